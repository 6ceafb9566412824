"""One component as a process: its log, its end, and what it said last if it died by itself."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

LIFE_S: Final = 3 * 3600
"""No component outlives this, whatever became of the test run."""
TAIL: Final = 3000
END_S: Final = 10.0


class Died(Exception):
    """A component ended by itself, or never became ready; the text has the end of its log."""


class Component:
    """A running program. Its output goes to a file; `stop` ends it at once."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._log = folder / f"{name}.log"
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                ["timeout", "--signal=KILL", str(LIFE_S), *command],
                cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                env={**os.environ, **(environment or {})}, start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The process group, which is also the process id of its first member."""
        return self._process.pid

    def check(self) -> None:
        """Raises Died if it is no longer there."""
        if self._process.poll() is not None:
            raise Died(f"{self.name} ended with {self._process.returncode}:\n{self.tail()}")

    def wait_until(self, ready: Callable[[], bool], limit_s: float = 60.0) -> None:
        """Waits for it to be ready; raises Died if it ends before or never is."""
        end = time.monotonic() + limit_s
        while not ready():
            self.check()
            if time.monotonic() > end:
                raise Died(f"{self.name} is not ready after {limit_s:.0f} s:\n{self.tail()}")
            time.sleep(0.05)

    def signal(self, number: signal.Signals) -> None:
        """To every process of the component: SIGSTOP and SIGCONT pause it."""
        os.killpg(self.pid, number)

    def end(self, limit_s: float = 60.0) -> None:
        """Asks it to end, and waits for that; raises Died if it does not."""
        if self._process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            self._process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise Died(f"{self.name} does not end:\n{self.tail()}") from None

    def stop(self) -> None:
        """Ends it at once; twice is no error. When this returns, its ports are free.

        The program is killed first: `timeout`, which waits for it, ends when it is gone.
        """
        if self._process.poll() is None and (children := self._children()):
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            self.signal(signal.SIGCONT)  # one that is paused would not notice
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
        self._process.wait()

    def _children(self) -> list[int]:
        try:
            text = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        except FileNotFoundError:
            return []
        return [int(pid) for pid in text.split()]

    def tail(self) -> str:
        """The end of its log."""
        return self._log.read_bytes()[-TAIL:].decode(errors="replace")
