"""Every committed vector passes, for every kind that is modelled; the runner tells the truth."""

import gzip
import json
import subprocess
import sys

import pytest
from tests.conformance import run

CASES = {
    "hostdevice-translation": 2011,
    "address-parsing": 387,
    "vmi-admission": 769,
    "launcher-pod-footprint": 657,
    "node-discovery": 202,
}


def vectors(kind):
    return run.HERE / "vectors" / f"{kind}.jsonl.gz"


@pytest.mark.parametrize("kind", [kind for kind in run.KINDS if run.is_written(kind)])
def test_every_vector_passes(kind):
    check, failures, count = run.checker(kind), [], 0
    for case in run.cases(vectors(kind)):
        count += 1
        failures += [run.told(case["name"], found) for found in run.checked(check, case)]
    assert count == CASES[kind]
    assert not failures, "\n".join(failures[: run.SHOWN])


def test_every_kind_has_its_count():
    assert tuple(CASES) == run.KINDS


def case(name="a", resource="nvidia.com/A10", variable="PCI_RESOURCE_NVIDIA_COM_A10"):
    return {
        "name": name, "kind": "envvar", "expected": {"envVar": variable},
        "input": {"prefix": "PCI_RESOURCE", "resourceName": resource},
    }  # fmt: skip


def written(path, *cases):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in cases), encoding="utf-8")
    return path


def test_it_runs_as_a_script_from_anywhere(tmp_path):
    path = written(tmp_path / "a.jsonl", case(), case("b", "wrong"))
    done = subprocess.run(
        [sys.executable, str(run.HERE / "run.py"), "address-parsing", "a.jsonl", str(path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 1
    *_, last = done.stdout.splitlines()
    assert last == "2 passed, 2 failed"
    assert done.stdout.startswith(
        "case b\n  path     expected\n"
        '  expected {"envVar": "PCI_RESOURCE_NVIDIA_COM_A10"}\n'
        '  got      {"envVar": "PCI_RESOURCE_WRONG"}\n'
    )


def test_it_shows_ten_differences_and_counts_all(tmp_path, capsys):
    path = written(tmp_path / "a.jsonl", *(case(f"n{number}", "wrong") for number in range(12)))
    assert run.main(["address-parsing", str(path)]) == 1
    shown = capsys.readouterr().out
    assert shown.count("case n") == 10
    assert shown.endswith("\n0 passed, 12 failed\n")


def test_all_passed_is_zero_and_gzip_is_read(tmp_path, capsys):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f"\n{json.dumps(case())}\n\n".encode()))
    assert run.main(["address-parsing", str(path)]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"


def test_a_crash_of_ours_fails_the_case(tmp_path, capsys):
    broken = {**case(), "input": {}}
    path = written(tmp_path / "a.jsonl", broken, case())
    assert run.main(["address-parsing", str(path)]) == 1
    out = capsys.readouterr().out
    assert "KeyError: 'prefix'" in out
    assert out.endswith("1 passed, 1 failed\n")


def test_an_unknown_kind_of_address_fails_its_case():
    assert run.checker("address-parsing")({**case(), "kind": "x"})


def test_values_are_shown_in_part(monkeypatch):
    monkeypatch.setattr(run, "MAX_SHOWN", 5)
    assert "expected xxxx" not in run.told("a", run.Difference("p", "x" * 9, 1))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "a.jsonl:1: not JSON"),
        (b"\xff", "a.jsonl:1: not JSON"),
        (b"\n[]", "a.jsonl:2: not a case; it needs name, input and expected"),
        (b'{"name": "a"}', "not a case"),
        (b"[" * 50_000, "not JSON"),
        (b" " * 200_000, "a.jsonl:1: the line is longer than"),
    ],
)
def test_a_malformed_file_is_told(tmp_path, capsys, monkeypatch, content, says):
    monkeypatch.setattr(run, "MAX_LINE", 100_000)
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    assert run.main(["address-parsing", str(path)]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("name", ["absent.jsonl", "plain.jsonl.gz", "cut.jsonl.gz"])
def test_a_file_that_cannot_be_read_is_told(tmp_path, capsys, name):
    (tmp_path / "plain.jsonl.gz").write_text("{}", encoding="utf-8")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}" * 1000)[:-12])
    assert run.main(["address-parsing", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err


def test_a_kind_that_is_not_modelled_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(run, "KINDS", (*run.KINDS, "later"))
    assert run.main(["later", str(tmp_path)]) == 2
    assert "later is not modelled yet" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["address-parsing"], ["nonsense", "x"]])
def test_a_wrong_call_is_two(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        run.main(arguments)
    assert caught.value.code == 2
    assert "usage: run.py" in capsys.readouterr().err
