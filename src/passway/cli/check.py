"""`passway check`: would these VMs get running now, with all their devices?

Owns where the manifests come from (files, stdin or flags) and how several answers become one exit
code. Everything that is judged is judged by the backend.
"""

from typing import Any, Final

import click
import msgspec

from passway.cli import verdict as verdicts
from passway.cli.annotations import github, sarif
from passway.cli.machine import MachineFlags, flagged
from passway.cli.options import Source, Usage, command, manifests, namespaced, sourced
from passway.cli.output import Output, View, printing, show
from passway.cli.sources import answer, namespaces_of, open_backend, read_manifest
from passway.service.backend import Backend
from passway.service.documents import IssueDocument, VerdictDocument, VerdictList

FLAGS: Final = "flags"
NAME: Final = "vm"


@command(
    "check",
    examples=(
        "passway check -f vm.yaml --from dumps/",
        "passway check -f a.yaml -f b.yaml --demo -o wide",
        "kubectl get vm train-3 -o yaml | passway check -f - --demo",
        "passway check --gpu nvidia.com/GA102GL_A10=2 --cpus 8 --memory 16Gi --demo",
        "passway check -f vm.yaml --server-dry-run   # the cluster's own words too",
        "passway check -f vm.yaml --from dumps/ --strict -o github   # in CI",
    ),
)
@manifests
@flagged
@click.option("--replicas", type=click.IntRange(1, 10_000), help="Ask for that many at once.")
@click.option("--strict", is_flag=True, help="Exit with 1 instead of 3 when the answer is unknown.")
@click.option(
    "--severity", type=click.Choice(verdicts.ORDER), default="warning", show_default=True,
    help="Show findings of this severity and worse; the answer stays the same.",
)  # fmt: skip
@click.option(
    "--server-dry-run",
    is_flag=True,
    help="Also ask the API server (dryRun=All) about the VM and its launcher; creates nothing.",
)
@namespaced
@sourced
@printing("sarif", "github")
def check(
    files: tuple[str, ...],
    flags: MachineFlags,
    replicas: int | None,
    strict: bool,
    severity: str,
    server_dry_run: bool,
    namespace: str,
    source: Source,
    output: Output,
) -> int:
    """Walk a VM through every stage that could stop it, before anything is created.

    Exits with 0 if every machine fits, 1 if one does not, 3 if it cannot be told.
    """
    if server_dry_run and not source.live:
        raise Usage(
            "--server-dry-run needs a cluster; files and the sample cannot be asked",
            "leave out --from and --demo, or name a service with --server",
        )
    texts = _texts(files, flags, namespace)
    found = _ask(
        open_backend(source, namespaces=namespaces_of(texts, namespace)), texts, namespace,
        replicas, expand=output.wide, server_dry_run=server_dry_run,
    )  # fmt: skip
    show(view(found, severity, output), output)
    return verdicts.exit_code(found, strict=strict)


def _texts(files: tuple[str, ...], flags: MachineFlags, namespace: str) -> list[tuple[bytes, str]]:
    if files and flags.given:
        raise Usage("-f and the flags that describe a VM exclude each other")
    if files:
        return [read_manifest(name) for name in files]
    if not flags.given:
        raise Usage("nothing to check", "-f FILE, or flags such as --gpu nvidia.com/GA102GL_A10=2")
    return [(msgspec.json.encode(flags.machine(NAME, namespace)), FLAGS)]


def _ask(
    backend: Backend,
    texts: list[tuple[bytes, str]],
    namespace: str,
    replicas: int | None,
    *,
    expand: bool,
    server_dry_run: bool,
) -> list[VerdictDocument]:
    async def ask() -> list[VerdictDocument]:
        found: list[VerdictDocument] = []
        for text, file in texts:
            found += await backend.check(
                text, file, namespace=namespace, replicas=replicas, expand=expand,
                server_dry_run=server_dry_run,
            )  # fmt: skip
        return found

    return [_without_places(item) for item in answer(ask())]


def _without_places(found: VerdictDocument) -> VerdictDocument:
    """Flags have no lines: a place in the text that was made of them says nothing."""

    def cleaned(issue: IssueDocument) -> IssueDocument:
        if issue.file != FLAGS:
            return issue
        return msgspec.structs.replace(issue, file=None, line=None, column=None)

    return msgspec.structs.replace(found, issues=tuple(map(cleaned, found.issues)))


def view(found: list[VerdictDocument], severity: str, output: Output) -> View:
    """The answers in every form."""
    document: Any = found[0] if len(found) == 1 else VerdictList(items=tuple(found))
    shown = [(item, issue) for item in found for issue in verdicts.chosen(item.issues, severity)]

    def annotations(form: str) -> str:
        return sarif(shown) if form == "sarif" else github(shown)

    return View(
        document,
        names=[f"{item.machine.kind.lower()}/{item.machine.name}" for item in found],
        table=verdicts.issues_table(found, severity),
        text="\n\n".join(
            verdicts.text(item, severity, wide=output.wide, headers=output.headers)
            for item in found
        ),
        special=annotations,
    )
