"""Runs vector files against the model: python tests/conformance/run.py KIND FILE…

A FILE holds one case a line (.jsonl, or .jsonl.gz). Prints the first ten differences and closes
with `N passed, N failed`. Exits 0 if all pass, 1 if any fails, 2 for a wrong call or a file that
is no vector file. What a case of a kind means is in kinds/, one module a kind: its function
`differences(case)` gives what differs.
"""

import argparse
import gzip
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))

from tests.conformance.difference import Difference  # noqa: E402

KINDS = (
    "hostdevice-translation",
    "address-parsing",
    "vmi-admission",
    "launcher-pod-footprint",
    "node-discovery",
)
SHOWN = 10
MAX_LINE = 8 * 1024 * 1024
MAX_SHOWN = 2000


class BadFile(Exception):
    """The file cannot be read as vectors; the message says where and why."""


def is_written(kind: str) -> bool:
    """Whether the kind has a module yet."""
    return _module_file(kind).exists()


def _module_file(kind: str) -> Path:
    return HERE / "kinds" / f"{kind.replace('-', '_')}.py"


def checker(kind: str) -> Callable[[dict], list[Difference]]:
    """The function that checks a case of the kind."""
    return importlib.import_module(f"tests.conformance.kinds.{_module_file(kind).stem}").differences


def cases(path: Path) -> Iterator[dict]:
    """The cases of a file, one at a time."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise BadFile(f"{path}:{number}: the line is longer than {MAX_LINE} bytes")
                if line.strip():
                    yield _case(line, f"{path}:{number}")
    except (OSError, EOFError) as error:
        raise BadFile(f"{path}: {error}") from None


def _case(line: bytes, where: str) -> dict:
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{where}: not JSON: {error}") from None
    if not isinstance(case, dict) or not {"name", "input", "expected"} <= case.keys():
        raise BadFile(f"{where}: not a case; it needs name, input and expected")
    return case


def checked(check: Callable[[dict], list[Difference]], case: dict) -> list[Difference]:
    """The case's differences; a crash of ours is one."""
    try:
        return check(case)
    except Exception as error:  # noqa: BLE001 - whatever breaks is a failure of this case
        return [Difference("", "no exception", f"{type(error).__name__}: {error}")]


def told(name: str, difference: Difference) -> str:
    """A difference for people."""
    return (
        f"case {name}\n  path     {difference.path}\n"
        f"  expected {_text(difference.expected)}\n  got      {_text(difference.got)}"
    )


def _text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, default=str)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="run.py", description="Checks vectors of one kind.")
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=".jsonl or .jsonl.gz")
    options = parser.parse_args(arguments)
    if not is_written(options.kind):
        print(
            f"run.py: {options.kind} is not modelled yet: no {_module_file(options.kind)}",
            file=sys.stderr,
        )
        return 2
    check = checker(options.kind)
    passed = failed = shown = 0
    try:
        for path in options.files:
            for case in cases(path):
                found = checked(check, case)
                for difference in found[: SHOWN - shown]:
                    print(told(str(case["name"]), difference))
                    shown += 1
                passed, failed = passed + (not found), failed + bool(found)
    except BadFile as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
