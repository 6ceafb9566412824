"""`passway version` and `passway completion`.

Both answer without asking anybody. Completion is click's own; the script it prints calls `passway`
back for every word, which is quick because commands load lazily.
"""

import platform

import click
from click.shell_completion import get_completion_class

from passway import __version__
from passway.cli.lazy import COMPLETE_VAR
from passway.cli.options import command
from passway.cli.output import Output, View, printing, show
from passway.service.documents import API_VERSION


@command("version", examples=("passway version", "passway version -o json"))
@printing()
def version(output: Output) -> None:
    """Print the version of Passway and of its interpreter."""
    found = {
        "apiVersion": API_VERSION,
        "kind": "Version",
        "version": __version__,
        "python": platform.python_version(),
    }
    show(View(found, [f"version/{__version__}"], text=f"passway {__version__}"), output)


@command(
    "completion",
    examples=(
        'eval "$(passway completion bash)"',
        "passway completion fish > ~/.config/fish/completions/passway.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - click knows the three
    root = ctx.find_root().command
    click.echo(found(root, {}, "passway", COMPLETE_VAR).source())
