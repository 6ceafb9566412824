"""The command group that loads nothing before it is needed, and how help is laid out.

Owns the two click classes of the command line. `--help` must answer at once, so the group knows
its commands only as a table of names, targets and one-line texts, and imports a command when it
runs. Help opens with examples. This module imports click and the standard library, nothing else.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import click

from passway.model.override import override

COMPLETE_VAR: Final = "_PASSWAY_COMPLETE"
DRY_RUN: Final = "--dry-run"


class Entry(NamedTuple):
    """A command: where it is (`module:attribute`), its line of help, and the extra it needs."""

    section: str
    target: str
    help: str
    extra: str = ""


class Examples(click.Command):
    """A command whose help opens with examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    @override
    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")
            formatter.write_paragraph()
        super().format_help(ctx, formatter)

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """A bare --dry-run means client, as in kubectl, and never takes the next word."""
        end = args.index("--") if "--" in args else len(args)
        head = [f"{DRY_RUN}=client" if word == DRY_RUN else word for word in args[:end]]
        return super().parse_args(ctx, [*head, *args[end:]])


class ExampleGroup(Examples, click.Group):
    """A group of commands whose help opens with examples."""

    command_class = Examples


class LazyGroup(ExampleGroup):
    """The root: commands from a table, failures to exit codes."""

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        return list(self.table)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if not entry.extra or (error.name or "").split(".")[0] == "passway":
                raise
            raise click.UsageError(
                f"{cmd_name} needs the extra: pip install 'passway[{entry.extra}]'", ctx
            ) from None
        assert isinstance(found, click.Command)  # noqa: S101 - the table is ours
        return found

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in self.table and not name.startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(name, list(self.table), n=1)
            more = f"; did you mean {near[0]}?" if near else ""
            raise click.UsageError(f'there is no command "{name[:40]}"{more}', ctx)
        return super().resolve_command(ctx, args)

    @override
    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's
        formatter: click.HelpFormatter,
    ) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self.table.items():
            sections.setdefault(entry.section, []).append((name, entry.help))
        width = max(map(len, self.table))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])

    @override
    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=entry.help)
            for name, entry in self.table.items()
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    @override
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - the one place where bugs are caught
            from passway.cli import failures

            return failures.report(error, verbose=bool(ctx.meta.get("passway.verbose")))

    @override
    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = COMPLETE_VAR,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Runs a command and exits with its code; commands return theirs (None is 0)."""
        try:
            code = super().main(args, prog_name, complete_var, False, **extra)
            sys.stdout.flush()
        except (click.ClickException, click.Abort, OSError) as error:
            from passway.cli import failures

            code = failures.report(error)
        code = code if isinstance(code, int) else 0
        if standalone_mode:
            sys.exit(code)
        return code
