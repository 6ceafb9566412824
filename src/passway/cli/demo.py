"""`passway demo`: a service on the sample cluster, one check through it, and where to go on.

Owns the child process: it is started with the interpreter that runs this command, waited for by the
line it prints when it listens, and always ended by its own process id. The demo succeeds when the
check gave an answer, whatever the answer is.
"""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import IO, Final, NoReturn

import click

from passway.cli import verdict as verdicts
from passway.cli.options import command
from passway.cli.remote import RemoteBackend
from passway.cli.sources import answer
from passway.model.errors import Unavailable

READY: Final = "serving on "
TOKEN: Final = "demo-admin"
EXAMPLE: Final = "examples/three-reasons.yaml"
START_S: Final = 30.0
STOP_S: Final = 5.0


@command("demo", examples=("passway demo", "passway demo --once", "passway demo --port 8080"))
@click.option("--once", is_flag=True, help="Stop after the check.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port on 127.0.0.1; 0 takes a free one.",
)
def demo(once: bool, port: int) -> None:
    """Start the service on a sample cluster, and check a VM that fails for three reasons."""
    file = resources.files("passway.sample").joinpath(EXAMPLE)
    text = file.read_bytes()
    with _service(port) as (child, url):
        backend = RemoteBackend(url, TOKEN, START_S)
        click.echo(f"$ passway check -f {EXAMPLE}\n")
        for found in answer(backend.check(text, EXAMPLE)):
            click.echo(verdicts.text(found, "warning", wide=False))
        click.echo(f"\n{_next(url, once=once)}")
        if not once:
            _wait(child)


def _wait(child: subprocess.Popen[str]) -> None:
    """Until Ctrl-C, which is the way to end it and no failure."""
    try:
        code = child.wait()
    except KeyboardInterrupt:
        return
    if code:
        raise Unavailable(f"the service ended by itself (exit code {code})")


def _next(url: str, *, once: bool) -> str:
    commands = (
        "passway get devices --demo",
        "passway tree --demo",
        "passway permit pci nvidia.com/A10 --selector 10DE:2236 --dry-run --demo",
    )
    lines = ["where to look next (all of it is sample data):"]
    if not once:
        lines.append(f"  {url}   token {TOKEN}; Ctrl-C ends it")
    return "\n".join([*lines, *(f"  {line}" for line in commands)])


@contextmanager
def _service(port: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The service as a child, from when it listens until the block ends, however it ends."""
    before = {number: signal.signal(number, _ended) for number in (signal.SIGTERM, signal.SIGHUP)}
    child = subprocess.Popen(  # noqa: S603 - our own interpreter and our own module
        [sys.executable, "-m", "passway", "serve", "--demo", "--port", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None  # noqa: S101 - piped above
        yield child, _ready(child, child.stdout)
    finally:
        _stop(child)
        for number, handler in before.items():
            signal.signal(number, handler)


def _ended(number: int, _frame: object) -> NoReturn:
    """Lets a signal that would end this process at once end its child first."""
    sys.exit(128 + number)


def _ready(child: subprocess.Popen[str], stdout: IO[str]) -> str:
    """The URL of the line that says that it listens; whatever follows is read and dropped."""
    overdue = threading.Timer(START_S, child.kill)
    overdue.start()
    try:
        for line in stdout:
            if line.startswith(READY):
                threading.Thread(target=_drain, args=(stdout,), daemon=True).start()
                return line.removeprefix(READY).strip()
    finally:
        overdue.cancel()
    stdout.close()
    raise Unavailable(
        f"the service did not start (exit code {child.wait()})",
        hint="passway serve --demo shows why; it needs pip install 'passway[server]'",
    )


def _drain(stdout: IO[str]) -> None:
    with stdout:
        for _ in stdout:
            pass


def _stop(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
