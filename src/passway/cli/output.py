"""What `-o` says: one document, printed in any of the formats.

Owns the formats and which part of a document is its list. A command hands over a `View`: its
document, its table, its text and its names; whatever is chosen, the same document is printed.
"""

import csv
import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, Literal, TypeVar

import click
import msgspec
import yaml

from passway.cli import jsonpath
from passway.cli.options import Usage
from passway.cli.table import Table, columns_text
from passway.cli.words import NONE, json_safe, visible, visible_lines

F = TypeVar("F", bound=Callable[..., Any])
D = TypeVar("D", bound=msgspec.Struct)

Format = Literal[
    "table",
    "wide",
    "json",
    "yaml",
    "name",
    "csv",
    "jsonpath",
    "custom-columns",
    "sarif",
    "github",
    "xml",
    "manifest",
]
PLAIN: Final = ("table", "wide", "json", "yaml", "name", "csv")
WITH_TEMPLATE: Final = ("jsonpath", "custom-columns")
LISTS: Final = ("items", "resources", "issues", "nodes", "elements", "overhead")
"""The field that is a document's list, in the order in which they are looked for."""


@dataclass(frozen=True, slots=True)
class Output:
    """How to print. `template` belongs to jsonpath and custom-columns."""

    format: Format = "table"
    template: str = ""
    headers: bool = True
    sort_by: str = ""

    @property
    def wide(self) -> bool:
        return self.format == "wide"

    def sorted(self, document: D) -> D:
        """The document with its list sorted by `--sort-by`."""
        if not self.sort_by:
            return document
        field = list_field(document)
        items = list(getattr(document, field)) if field else []
        return msgspec.structs.replace(
            document, **({field: tuple(jsonpath.sort(items, self.sort_by))} if field else {})
        )


@dataclass(frozen=True, slots=True)
class View:
    """A document in the forms that a person reads. `text` stands for table and wide if it is set.

    `special` makes the forms that only some commands have.
    """

    document: Any
    names: Sequence[str]
    table: Table | None = None
    text: str | None = None
    special: Callable[[str], str] | None = None


def list_field(document: Any) -> str | None:
    """The field with the list of a document; None for a document that is one thing."""
    if getattr(document, "kind", "") == "Verdict":
        return None
    fields = getattr(document, "__struct_fields__", ())
    return next((name for name in LISTS if name in fields), None)


def _format(words: tuple[str, ...], value: str) -> tuple[Format, str]:
    """`FORMAT` or `jsonpath=TEMPLATE` -> the format and its template."""
    word, given, template = value.partition("=")
    if (word in words and not given) or (word in WITH_TEMPLATE and template):
        return word, template  # type: ignore[return-value] # one of the words
    if word in WITH_TEMPLATE:
        raise click.BadParameter(f"{word} needs its template: -o {word}=…")
    allowed = ", ".join([*words, *(f"{item}=…" for item in WITH_TEMPLATE)])
    raise click.BadParameter(f"{word[:40]!r} is not one of {allowed}")


def printing(*extra: str, default: str = "table") -> Callable[[F], F]:
    """Adds the output options; the command receives one `output`. `extra`: more formats."""
    words = (*PLAIN, *extra)

    def convert(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[Format, str]:
        return _format(words, value)

    def complete(_ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
        known = (*words, *(f"{item}=" for item in WITH_TEMPLATE))
        return [word for word in known if word.startswith(start)]

    options = (
        click.option(
            "-o", "--output", "chosen", default=default, show_default=True, metavar="FORMAT",
            callback=convert, shell_complete=complete,
            help=", ".join([*words, "jsonpath=… or custom-columns=NAME:.path,…"]),
        ),
        click.option("--no-headers", is_flag=True, help="Leave out the headings of tables."),
        click.option(
            "--sort-by", default="", metavar="PATH", help="Sort by a field of the JSON: .free"
        ),
    )  # fmt: skip

    def decorate(function: F) -> F:
        @wraps(function)
        def wrapped(**given: Any) -> Any:
            (form, template), headers = given.pop("chosen"), not given.pop("no_headers")
            output = Output(form, template, headers, given.pop("sort_by"))
            return function(output=output, **given)

        for option in reversed(options):
            wrapped = option(wrapped)
        return wrapped  # type: ignore[return-value] # takes what click passes, as F does

    return decorate


def show(view: View, output: Output) -> None:
    """Prints the view on stdout."""
    text = _render(view, output)
    if text:
        click.echo(text, nl=output.format != "jsonpath" and not text.endswith("\n"))
    sys.stdout.flush()


def _render(view: View, output: Output) -> str:
    match output.format:
        case "json":
            return as_json(view.document)
        case "yaml":
            return as_yaml(view.document)
        case "name":
            return "\n".join(map(visible, view.names))
        case "jsonpath":
            found = jsonpath.render(output.template, jsonpath.plain_of(view.document))
            return visible_lines(found)
        case "custom-columns":
            return _custom_columns(view.document, output)
        case "csv":
            return _csv(view, output)
        case "sarif" | "github" | "xml" | "manifest":
            return view.special(output.format) if view.special else ""
        case "table" | "wide":
            if view.text is not None:
                return view.text
            return view.table.text(output.wide, output.headers) if view.table else ""


def as_json(document: Any) -> str:
    return json_safe(msgspec.json.format(msgspec.json.encode(document), indent=2).decode()) + "\n"


def as_yaml(document: Any) -> str:
    return yaml.safe_dump(jsonpath.plain_of(document), sort_keys=False, width=100)


def _csv(view: View, output: Output) -> str:
    if view.table is None:
        raise Usage("this command has no table to print as csv", "use -o json or -o yaml")
    file = io.StringIO()
    rows = view.table.rows(wide=True)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerows(rows if output.headers else rows[1:])
    return file.getvalue()


def _custom_columns(document: Any, output: Output) -> str:
    columns = []
    for part in output.template.split(","):
        heading, colon, path = part.partition(":")
        if not (colon and heading and path):
            raise Usage(
                f"custom-columns: {part[:60]!r} is not NAME:.path", "for example NAME:.name"
            )
        columns.append((heading, jsonpath.path(path)))
    field = list_field(document)
    plain = jsonpath.plain_of(document)
    rows = [[heading for heading, _ in columns]] if output.headers else []
    for item in plain[field] if field else [plain]:
        cells = (",".join(map(jsonpath.text, found(item))) for _, found in columns)
        rows.append([cell or NONE for cell in cells])
    return columns_text(rows)
