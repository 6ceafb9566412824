"""Logs of the service on stderr: one line each, as JSON or as text, ours and those of libraries.

Owns the form of a line and what an unexpected exception may say in it: its type and the places it
came through, never its message, which may quote what somebody sent or what the cluster holds.
Lines that are written while a request is worked on carry its id. What is logged, and that no token
is, is the matter of whoever logs.
"""

import logging
import re
import traceback
from pathlib import PurePath
from typing import Any, Final, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Format = Literal["json", "text"]
FIELDS: Final = ("method", "route", "status", "duration_ms", "user", "source")
"""What a line of the access log has besides its message."""
_FRAMES: Final = 30
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def configure(form: Format, stream: TextIO) -> None:
    """Everything that is logged in this process goes to the stream; of libraries, warnings."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter(form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("passway").setLevel(logging.INFO)


def formatter(form: Format) -> logging.Formatter:
    """The lines of one form."""
    before: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(allow=FIELDS),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        _places,
        structlog.processors.EventRenamer("message"),
    ]
    last: Processor = structlog.processors.JSONRenderer() if form == "json" else _text
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=before,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, last],
    )


def _places(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """An exception as its types and places."""
    info = event.pop("exc_info", None)
    event.pop("stack_info", None)
    error = info[1] if isinstance(info, tuple) else None
    if error is not None:
        event["exception"] = " from ".join(_told(one) for one in _chain(error))
    return event


def _chain(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in found:
        found.append(following)
        hidden = None if following.__suppress_context__ else following.__context__
        following = following.__cause__ or hidden
    return found


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = [f"{PurePath(one.filename).name}:{one.lineno} {one.name}" for one in frames]
    return f"{type(error).__name__} at {' > '.join(places) or 'no place'}"


def _text(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    head = [str(event.pop(name, "")) for name in ("time", "level", "logger")]
    message = event.pop("message", "")
    rest = "".join(f" {name}={value}" for name, value in event.items())
    return _CONTROLS.sub(_escaped, f"{head[0]} {head[1]} {head[2]}: {message}{rest}")


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def fields(**values: Any) -> dict[str, Any]:
    """`extra` of a line of the access log."""
    return {name: values[name] for name in FIELDS}
