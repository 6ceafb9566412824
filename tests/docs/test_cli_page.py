"""docs/cli.md has every command, option and exit code, and nothing that is not there."""

import re
from pathlib import Path

import click

from passway.main import COMMANDS, cli
from passway.model import errors

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")
SERVICE = "".join(  # the options of `serve`
    (DOCS / name).read_text(encoding="utf-8") for name in ("api.md", "operations.md")
)


def walk(command, context):
    """The command and everything below it."""
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from walk(command.get_command(context, name), context)


def options():
    context = click.Context(cli)
    return {
        option
        for command in walk(cli, context)
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--")
    } | {"--help"}


def test_every_command_has_its_heading():
    headings = " ".join(re.findall(r"^### (.+)$", PAGE, re.MULTILINE))
    assert [
        name for name in COMMANDS if not re.search(rf"(?<![\w-]){name}(?![\w-])", headings)
    ] == []


def test_options_of_the_page_are_those_of_the_commands():
    written = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", PAGE + SERVICE))
    assert sorted(written - options()) == ["--data-binary"]  # of curl
    assert sorted(options() - written - {"--help"}) == []


def test_every_exit_code_is_in_the_table():
    codes = {getattr(errors, name) for name in dir(errors) if name.startswith("EXIT_")}
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert codes <= listed
