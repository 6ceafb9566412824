"""Reads the small files that a kubeconfig is or names: whole, bounded, with errors that help."""

from pathlib import Path
from typing import Final

from passway.kube.config.fields import invalid
from passway.model.errors import TooLarge

MAX_BYTES: Final = 2 * 1024 * 1024


def read_file(path: str, where: str) -> bytes:
    """The content; raises InvalidInput or TooLarge. `where`: what names the file."""
    content = read_optional(path, where)
    if content is None:
        hint = "name a file that is there"
        raise invalid(where, f"{path}: No such file or directory", hint)
    return content


def read_optional(path: str, where: str) -> bytes | None:
    """The content, or None if there is no such file; raises InvalidInput or TooLarge."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        # strerror alone, since the path stands in the message already
        problem = f"{path}: {error.strerror or 'cannot be read'}"
        raise invalid(where, problem, "name a file that may be read") from None
    except ValueError:
        raise invalid(where, "the path of a file has a null byte", "correct the path") from None
    if len(content) > MAX_BYTES:
        raise TooLarge(f"{where}: {path}: more than {MAX_BYTES} bytes", hint="name the right file")
    return content
