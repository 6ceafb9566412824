"""Runs one program for its output: without a shell, for a limited time, with bounded output.

Whatever ends the run early (the time, too much output, a cancelled caller) ends the program too. A
program that may talk to a person stays in the terminal's own group of processes, or the terminal
would stop it; any other gets a group of its own, which is killed as a whole.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

MAX_OUTPUT: Final = 1024 * 1024
KEPT_STDERR: Final = 16 * 1024
_CHUNK: Final = 64 * 1024
_END_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """`code` is negative for a signal. `stderr` is its end. Both outputs may hold secrets."""

    code: int
    stdout: bytes = field(repr=False)
    stderr: bytes = field(repr=False)
    timed_out: bool = False
    too_much: bool = False


class _Taken:
    """What came out of a program so far."""

    def __init__(self, say: Callable[[bytes], None] | None) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.too_much = False
        self._say = say

    async def take_stdout(self, stream: asyncio.StreamReader, stop: Callable[[], None]) -> None:
        while chunk := await stream.read(_CHUNK):
            if len(self.stdout) + len(chunk) > MAX_OUTPUT:
                self.too_much = True
                stop()
                return
            self.stdout += chunk

    async def take_stderr(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_CHUNK):
            if self._say is not None:
                self._say(chunk)
            self.stderr += chunk
            del self.stderr[:-KEPT_STDERR]


async def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    timeout_s: float,
    interactive: bool = False,
    say: Callable[[bytes], None] | None = None,
) -> Ended:
    """Runs it to its end; OSError or ValueError if it cannot even start.

    `interactive`: it reads from our stdin. `say` is given stderr as it comes.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environ,
        stdin=None if interactive else asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=not interactive,
    )
    taken = _Taken(say)
    timed_out = False

    def stop() -> None:
        with suppress(ProcessLookupError):
            if interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)

    finished = False
    try:
        async with asyncio.timeout(timeout_s):
            assert process.stdout is not None  # noqa: S101 - both are pipes
            assert process.stderr is not None  # noqa: S101
            await asyncio.gather(
                taken.take_stdout(process.stdout, stop),
                taken.take_stderr(process.stderr),
                process.wait(),
            )
        finished = True
    except TimeoutError:
        timed_out = True
    finally:
        if not finished:
            stop()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _END_S)
    code = -signal.SIGKILL if process.returncode is None else process.returncode
    return Ended(code, bytes(taken.stdout), bytes(taken.stderr), timed_out, taken.too_much)
