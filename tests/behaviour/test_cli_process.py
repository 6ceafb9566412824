"""The command line as a process: start-up, pipes, signals, the demo."""

import os
import signal
import subprocess
import sys

import pytest

PASSWAY = [sys.executable, "-m", "passway"]
HEAVY = {"msgspec", "yaml", "rich", "aiohttp", "asyncio", "fastapi", "pydantic", "json"}


def run(*args: str, code: int = 0, **options):
    result = subprocess.run(
        [*PASSWAY, *args], check=False, capture_output=True, text=True, timeout=60, **options
    )
    assert result.returncode == code, result.stderr
    return result


def test_help_loads_next_to_nothing():
    script = (
        "import sys; sys.argv = ['passway', '--help']; before = {*sys.modules}\n"
        "from passway.main import main\n"
        "try: main()\n"
        "except SystemExit: print(*{*sys.modules} - before, file=sys.stderr)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert "Examples:" in found.stdout
    modules = set(found.stderr.split())
    ours = {name for name in modules if name.startswith("passway")}
    assert ours == {
        "passway", "passway.main", "passway.cli", "passway.cli.lazy", "passway.model",
        "passway.model.override",
    }  # fmt: skip
    assert not HEAVY & {name.partition(".")[0] for name in modules}


def test_a_plugin_calls_itself_as_kubectl_does(tmp_path):
    link = tmp_path / "kubectl-passway"
    link.write_text("from passway.main import main\nmain()\n")
    found = subprocess.run(
        [sys.executable, str(link), "--help"], capture_output=True, text=True, check=True
    )
    assert "Usage: kubectl passway" in found.stdout


def test_a_reader_that_goes_away_is_no_error():
    read, write = os.pipe()
    os.close(read)
    found = subprocess.run(
        [*PASSWAY, "get", "devices", "--demo"], check=False, stdout=write, stderr=subprocess.PIPE,
        text=True, timeout=60,
    )  # fmt: skip
    os.close(write)
    assert found.returncode == 141
    assert found.stderr == ""


def test_nobody_there_is_7():
    found = run("get", "devices", "--server", "http://127.0.0.1:9", code=7)
    assert found.stderr.startswith("error: cannot reach http://127.0.0.1:9")


def test_no_source_is_2(tmp_path):
    env = {name: text for name, text in os.environ.items() if not name.startswith("PASSWAY_")}
    assert "--demo" in run("get", "devices", code=2, env=env).stderr


def test_bash_completion():
    assert "_PASSWAY_COMPLETE" in run("completion", "bash").stdout


def test_the_demo_shows_a_no_and_succeeds():
    found = run("demo", "--once")
    assert "VirtualMachine telco/render-1: does not fit (3 errors, 1 warning)" in found.stdout
    assert "where to look next" in found.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_the_demo_runs_until_a_signal_and_takes_its_service_along(number, code):
    child = subprocess.Popen([*PASSWAY, "demo"], stdout=subprocess.PIPE, text=True)
    try:
        url = next(line for line in child.stdout if line.startswith("  http://")).split()[0]
        run("get", "devices", "--server", url, "--token", "demo-admin")
        child.send_signal(number)
        assert child.wait(30) == code
        run("get", "devices", "--server", url, "--token", "demo-admin", code=7)
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("entry", ["passway", "kubectl-passway"])
def test_both_commands_are_installed(entry):
    from importlib.metadata import entry_points

    (found,) = entry_points(group="console_scripts", name=entry)
    assert found.value == "passway.main:main"
