"""The options that every command shares, as decorators, and the values they become.

Owns the names, help texts and rules between options (one source at most). It opens nothing: a
`Source` only says where the answer is to come from, and `sources.open_backend` goes there.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Final, TypeVar

import click

from passway.cli.lazy import DRY_RUN, Examples
from passway.model.override import override

F = TypeVar("F", bound=Callable[..., Any])
Command = Callable[..., Any]

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3600.0}


class Usage(click.UsageError):
    """A usage error with a hint of its own."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, click.get_current_context(silent=True))
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer comes from: files, the sample, a service, or a cluster; one of them.

    Without the first three it is the cluster of a kubeconfig.
    """

    paths: tuple[str, ...] = ()
    demo: bool = False
    server: str | None = None
    token: str | None = None
    at: str | None = None
    complete: bool = False
    read: tuple[str, ...] = ()
    timeout_s: float | None = 30.0
    kubeconfig: str | None = None
    context: str | None = None
    cluster: str | None = None
    user: str | None = None
    as_user: str | None = None
    as_groups: tuple[str, ...] = ()

    @property
    def live(self) -> bool:
        """Whether what is written there takes effect."""
        return not (self.paths or self.demo)


_OF_CLUSTER: Final = ("kubeconfig", "context", "cluster", "user", "as_user", "as_groups")
"""The fields that only a kubeconfig has a use for."""


def _duration(_ctx: click.Context, _param: click.Parameter, value: str) -> float:
    match = _DURATION.fullmatch(value)
    if match is None:
        raise click.BadParameter(f"{value[:40]!r} is no duration; write 30s, 2m or 0 for no limit")
    return float(match[1]) * _SECONDS[match[2]]


def _colour(ctx: click.Context, _param: click.Parameter, value: str) -> None:
    chosen = {"always": True, "never": False}.get(value)
    if chosen is None and os.environ.get("NO_COLOR"):
        chosen = False
    ctx.color = ctx.find_root().color = chosen


def _verbose(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().meta["passway.verbose"] = True


_COMMON: Final = (
    click.option(
        "--color", type=click.Choice(["auto", "always", "never"]), default="auto",
        show_default=True, callback=_colour, expose_value=False, is_eager=True,
        help="Colour the output; NO_COLOR turns it off too.",
    ),
    click.option(
        "-v", "--verbose", is_flag=True, callback=_verbose, expose_value=False, is_eager=True,
        help="Show where an error comes from.",
    ),
)  # fmt: skip

_SOURCE: Final = (
    click.option(
        "--from", "paths", multiple=True, metavar="PATH", type=click.Path(),
        help="Dumps of kubectl get -o json|yaml: a file, or a folder of them; repeatable.",
    ),
    click.option("--demo", is_flag=True, help="Use the bundled sample cluster."),
    click.option(
        "--server", metavar="URL", help="Ask a Passway service.  [env: PASSWAY_SERVER]"
    ),
    click.option("--token", help="Bearer token for --server.  [env: PASSWAY_TOKEN]"),
    click.option(
        "--request-timeout", "timeout_s", default="30s", callback=_duration, show_default=True,
        help="Longest wait for one answer of --server or the cluster; 0 waits for ever.",
    ),
    click.option(
        "--kubeconfig", metavar="PATH", type=click.Path(),
        help="The cluster of this kubeconfig, which is also the default source.  [env: KUBECONFIG]",
    ),
    click.option("--context", metavar="NAME", help="Context of the kubeconfig."),
    click.option("--cluster", metavar="NAME", help="Cluster of the kubeconfig."),
    click.option("--user", metavar="NAME", help="User of the kubeconfig."),
    click.option("--as", "as_user", metavar="NAME", help="Act on the cluster as this user."),
    click.option(
        "--as-group", "as_groups", multiple=True, metavar="NAME",
        help="Act on the cluster as in this group; repeatable.",
    ),
    click.option(
        "--at", metavar="TIME",
        help="With --from: judge at this moment (RFC 3339).  [default: the newest time in there]",
    ),
    click.option(
        "--complete", is_flag=True,
        help="With --from: kinds that do not occur have no objects, instead of being unread.",
    ),
    click.option(
        "--read", multiple=True, metavar="KIND,…",
        help="With --from: these kinds were read too, and have no objects if none occur.",
    ),
)  # fmt: skip

namespaced: Final = click.option(
    "-n", "--namespace", default="default", show_default=True, help="Namespace of the VMs."
)
manifests: Final = click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", type=click.Path(),
    help="Manifest with the VM, YAML or JSON; - reads stdin.",
)  # fmt: skip
confirmable: Final = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
dry_run: Final = click.option(
    DRY_RUN, type=click.Choice(["none", "client", "server"]), default="none",
    help="Show what would be done, and do nothing; alone it means client.",
)  # fmt: skip


def command(name: str, *, examples: tuple[str, ...]) -> Callable[[Command], click.Command]:
    """A command with examples and, last in its help, the options that every one has."""

    def decorate(function: Command) -> click.Command:
        for option in reversed(_COMMON):
            function = option(function)
        ordered: tuple[str, ...] = getattr(function, "in_order", ())
        made = click.command(name, cls=_InOrder if ordered else Examples, examples=examples)(
            function
        )
        if isinstance(made, _InOrder):
            made.ordered = ordered
        common = len(_COMMON)
        made.params = [*made.params[common:], *made.params[:common]]
        return made

    return decorate


class _InOrder(Examples):
    """A command that also learns in which order some of its repeatable options stand."""

    ordered: tuple[str, ...] = ()

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """click keeps the values of each option, and forgets how the options were mixed."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        rest = super().parse_args(ctx, args)
        given = {name: iter(ctx.params.pop(name)) for name in self.ordered}
        ctx.params["ordered"] = [
            (param.name, next(given[param.name])) for param in order if param.name in given
        ]
        return rest


def in_order(*names: str) -> Callable[[F], F]:
    """The command receives these options as one list `ordered` of (name, value)."""

    def decorate(function: F) -> F:
        function.in_order = names  # type: ignore[attr-defined] # read by `command`
        return function

    return decorate


def source_options(function: F) -> F:
    """Adds the source options as they are; `source_of` makes a source of them."""
    decorated: Command = function
    for option in reversed(_SOURCE):
        decorated = option(decorated)
    return decorated  # type: ignore[return-value] # click's decorators keep the function


def sourced(function: F) -> F:
    """Adds the source options; the command receives one `source`."""

    @wraps(function)
    def wrapped(**given: Any) -> Any:
        options = {name: given.pop(name) for name in Source.__dataclass_fields__}
        return function(source=source_of(options), **given)

    return source_options(wrapped)  # type: ignore[return-value] # takes what click passes


def source_of(options: dict[str, Any]) -> Source:
    """The only source that was named; the environment's one if none was."""
    return _source(Source(**options))


def _source(given: Source) -> Source:
    chosen = [name for name in _OF_CLUSTER if getattr(given, name)]
    named = [bool(given.paths), given.demo, given.server is not None, bool(chosen)]
    server, token = given.server, given.token or os.environ.get("PASSWAY_TOKEN")
    if not any(named):
        server = os.environ.get("PASSWAY_SERVER") or None
    if sum(named) > 1:
        raise Usage(
            "--from, --demo, --server and a kubeconfig exclude each other", "keep one of them"
        )
    if not given.paths and (given.at or given.complete or given.read):
        raise Usage("--at, --complete and --read go with --from")
    kinds = tuple(word for text in given.read for word in text.split(",") if word.strip())
    return replace(
        given, server=server, token=token if server else None, read=kinds,
        timeout_s=given.timeout_s or None,
    )  # fmt: skip
