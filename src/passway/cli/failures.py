"""From a failure to its words on stderr and its exit code; the only place where that is decided.

Expected failures carry their exit code (`model.errors`); whatever else arrives is a bug: it gets
an id that is the same whenever the same line fails, and no traceback unless asked for. A reader
that went away (`| head`) is no failure worth a word.
"""

import hashlib
import os
import sys
import traceback
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Final

import click
import msgspec

from passway.cli import words
from passway.model.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USAGE, PasswayError
from passway.service import report as reports
from passway.service.documents import IssueDocument

EXIT_PIPE: Final = 141
"""What a shell shows for a command that SIGPIPE ended; our own answer was never fully read."""


class Told(Exception):
    """A failure whose issues are documents already; mixed into the class that its code names."""

    documents: tuple[IssueDocument, ...] = ()


def told(
    kind: type[PasswayError],
    message: str,
    *,
    hint: str,
    code: str,
    documents: tuple[IssueDocument, ...],
) -> PasswayError:
    """An error of that class with those issues."""
    mixed: type[Any] = type(kind.__name__, (Told, kind), {})
    error = mixed(message, hint=hint, code=code)
    error.documents = documents
    assert isinstance(error, PasswayError)  # noqa: S101 - made of one
    return error


def without_places(error: PasswayError) -> PasswayError:
    """The same error about a text that the user never saw, so that its lines say nothing."""
    documents = tuple(
        msgspec.structs.replace(issue, file=None, line=None, column=None)
        for issue in issues_of(error)
    )
    if isinstance(error, Told):
        error.documents = documents
        return error
    return told(type(error), str(error), hint=error.hint, code=error.code, documents=documents)


def report(error: Exception, *, verbose: bool = False) -> int:
    """Says what happened on stderr and gives the exit code."""
    match error:
        case BrokenPipeError():
            return _reader_gone()
        case click.Abort():
            click.echo("interrupted", err=True)
            return EXIT_INTERRUPTED
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message(), err=True)
            return EXIT_USAGE
        case click.ClickException():
            _usage(error)
            return EXIT_USAGE
        case PasswayError():
            _expected(error)
            code = error.kind.exit_code
        case _:
            _bug(error)
            code = EXIT_BUG
    if verbose:
        click.echo(words.visible_lines("".join(traceback.format_exception(error))), err=True)
    return code


def issues_of(error: PasswayError) -> tuple[IssueDocument, ...]:
    return error.documents if isinstance(error, Told) else reports.issues(error.issues)


def _expected(error: PasswayError) -> None:
    issues = issues_of(error)
    for issue in issues:
        click.echo(words.message(issue), err=True)
    if not issues:
        words.complain(str(error), error.hint)
    elif len(issues) > 1 or error.hint:
        words.complain(f"{error.kind.title}: {words.count(len(issues), 'finding')}", error.hint)


def _usage(error: click.ClickException) -> None:
    ctx = getattr(error, "ctx", None)
    hinted = getattr(error, "hint", "")
    if not hinted and isinstance(ctx, click.Context):
        hinted = f"{ctx.command_path} --help"
    words.complain(error.format_message(), hinted)


def _bug(error: Exception) -> None:
    words.complain(
        f"a bug in Passway (id {_identity(error)}): {type(error).__name__}: {error}",
        "please report it with this id and the command; -v shows where it happened",
    )


def _identity(error: Exception) -> str:
    """The same for the same place in the code, on any machine."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{PurePath(frame.filename).name}:{frame.name}" for frame in frames[-3:]]
    text = " ".join([type(error).__name__, *places])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _reader_gone() -> int:
    """Nothing more can be printed; what is still buffered must not complain at the exit either."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):  # a stand-in for stdout may have no descriptor
        os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
    return EXIT_PIPE
