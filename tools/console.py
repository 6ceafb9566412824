"""Runs the console blocks of the documentation: `python -m tools.console FILE…` rewrites them.

A block fenced as `console` holds commands after `$ ` and what they print. Only `passway` is run,
in the repository's root, without a shell; `$ echo $?` prints the exit code of the command before.
A test compares what is written with what is printed.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def rewritten(text: str) -> str:
    """The page with the output that its commands print now."""
    return FENCE.sub(lambda block: "".join(_block(block[1])), text)


def commands(text: str) -> list[str]:
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def _block(block: str) -> Iterator[str]:
    code = 0
    for command in commands(block):
        yield f"$ {command}\n"
        if command == "echo $?":
            yield f"{code}\n"
            continue
        code, output = run(command)
        yield output


def run(command: str) -> tuple[int, str]:
    """Exit code and everything printed; raises for anything but passway."""
    program, *arguments = shlex.split(command)
    if program != "passway":
        raise ValueError(f"only passway is run here, not {program!r}")
    done = subprocess.run(
        [sys.executable, "-m", "passway", *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100"},
    )
    return done.returncode, done.stdout


if __name__ == "__main__":
    for name in sys.argv[1:]:
        page = Path(name)
        page.write_text(rewritten(page.read_text(encoding="utf-8")), encoding="utf-8")
