"""`passway serve`: the REST service as a command.

Owns whom and what it serves: the tokens, and the cluster of a kubeconfig or the sample. Where and
how it is served is `operations`', how the process comes up and down `server`'s.
"""

import logging
from pathlib import Path
from typing import Final

import click

from passway.api.app import create_app, utc_now
from passway.api.identity import DEMO, Credential, Tokens
from passway.api.operations import Operations, operated
from passway.api.token_file import read_tokens, readable_by_others
from passway.cluster import kinds
from passway.kube.client import KubeCluster
from passway.kube.config import Overrides, here, load_config
from passway.kube.memory import MemoryCluster
from passway.sample.cluster import sample_objects
from passway.service.authority import Authority, ClusterAuthority
from passway.service.mirror import Mirror
from passway.service.ports import Cluster
from passway.store.audit import SqlAudit
from passway.store.database import Database, database, default_file, memory, prepare

HELP: Final = """\b
Examples:
  passway serve --demo
  passway serve --access-log --metrics-port 9090
  passway serve --host :: --tls-cert tls.crt --tls-key tls.key

Run the REST service, on the cluster of a kubeconfig or on the sample.
"""
_log = logging.getLogger("passway.api")


@click.command("serve", help=HELP)
@click.option("--demo", is_flag=True, help="Serve the sample cluster, with tokens that are known.")
@click.option(
    "--tokens",
    "token_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Who may ask: a list of {token, user, role, namespaces}.  [default: the cluster says]",
)
@click.option(
    "--kubeconfig",
    metavar="PATH",
    type=click.Path(),
    help="The cluster to serve.  [default: what kubectl would use, else this pod's own]",
)
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
@click.option(
    "--audience",
    "audiences",
    multiple=True,
    metavar="NAME",
    help="Audience that bearer tokens must be meant for.  [default: the API server]",
)
@click.option(
    "--impersonate",
    is_flag=True,
    help="Write as whoever asks, so that the cluster's own audit names them.",
)
@click.option(
    "--audit",
    metavar="URL",
    envvar="PASSWAY_AUDIT",
    help="Where changes are recorded: a file of SQLite, or postgresql://…; with --demo in memory."
    "  [env: PASSWAY_AUDIT; default: passway/audit.db in $XDG_STATE_HOME]",
)
@operated
def serve(
    demo: bool,
    token_file: Path | None,
    kubeconfig: str | None,
    context: str | None,
    audiences: tuple[str, ...],
    impersonate: bool,
    audit: str | None,
    operations: Operations,
) -> None:
    """Serves until a signal ends it."""
    if demo and (kubeconfig or context):
        raise click.UsageError("--demo and a kubeconfig exclude each other; keep one of them")
    if audiences and (demo or token_file):
        raise click.UsageError("--audience is for tokens of the cluster; leave it out")
    if demo and impersonate:
        raise click.UsageError("--demo has nobody to --impersonate; leave one of them out")
    cluster = _sample() if demo else _live(kubeconfig or "", context or "", impersonate=impersonate)
    authority: Authority
    if demo or token_file:
        authority = Tokens(DEMO if token_file is None else _read(token_file))
    else:
        authority = ClusterAuthority(cluster, audiences=audiences)
    acting = cluster.acting if impersonate and isinstance(cluster, KubeCluster) else None
    rows = SqlAudit(kept(audit, demo=demo))
    # The sample is of a moment of its own; what lives is judged at the time of the question.
    mirror = Mirror(cluster, now=None if demo else utc_now)
    app = create_app(
        cluster, authority, mirror=mirror, audit=rows, acting=acting, **operations.limits()
    )
    operations.run(app)


def kept(given: str | None, *, demo: bool) -> Database:
    """Where the audit is; its file is there when this returns."""
    if demo and not given:
        return memory()
    found = database(given or str(default_file()))
    prepare(found)
    _log.info("the audit is in %s", found)
    return found


def _sample() -> Cluster:
    return MemoryCluster(sample_objects(), kinds=kinds.ALL)


def _live(kubeconfig: str, context: str, *, impersonate: bool) -> Cluster:
    """The cluster of a kubeconfig, or the one that this pod runs in."""
    config = load_config(kubeconfig, Overrides(context=context), here(terminal=False))
    if impersonate and config.impersonation:
        raise click.UsageError("the kubeconfig impersonates already; leave --impersonate out")
    for warning in config.warnings:
        _log.warning("%s", warning)
    return KubeCluster(config)


def _read(path: Path) -> tuple[Credential, ...]:
    found = read_tokens(path)
    if readable_by_others(path):
        _log.warning("%s can be read by everybody on this machine; chmod 600 it", path)
    return found
