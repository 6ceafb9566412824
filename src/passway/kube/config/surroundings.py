"""What the configuration takes from the process it runs in, as one value that tests replace."""

import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`terminal`: a person sits at stdin, and it may be lent to an exec plugin; such a plugin's
    stderr goes to `say` while it runs. `now` is the time of day, `clock` only ever grows.
    """

    environ: Mapping[str, str] = field(repr=False)
    home: str
    folder: str
    service_account: str = SERVICE_ACCOUNT
    terminal: bool = False
    say: Callable[[bytes], None] | None = None
    now: Callable[[], float] = time.time
    clock: Callable[[], float] = time.monotonic


def here(*, terminal: bool | None = None) -> Surroundings:
    """This process. `terminal` False: stdin is used for something else."""
    at_terminal = sys.stdin is not None and sys.stdin.isatty() if terminal is None else terminal
    return Surroundings(
        environ=dict(os.environ),
        home=os.path.expanduser("~"),  # noqa: PTH111 - Path.home() raises where there is none
        folder=_folder(),
        terminal=at_terminal,
        say=_to_stderr if at_terminal else None,
    )


def _to_stderr(text: bytes) -> None:
    with suppress(OSError, ValueError):  # nobody listens any more
        sys.stderr.write(text.decode("utf-8", "replace"))
        sys.stderr.flush()


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - it stays text
    except OSError:  # it was deleted
        return "/"
