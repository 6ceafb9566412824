"""`passway serve`: the REST service as a process.

Owns options, the socket, logs on stderr, and the way up and down: the address is printed when the
cluster has been read, and SIGTERM or SIGINT ends it with code 0 after the running requests.
"""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import click
import uvicorn
from fastapi import FastAPI

from passway.api.app import create_app, utc_now
from passway.api.identity import DEMO, Credential, Tokens
from passway.api.token_file import read_tokens, readable_by_others
from passway.cluster import kinds
from passway.kube.client import KubeCluster
from passway.kube.config import Overrides, here, load_config
from passway.kube.memory import MemoryCluster
from passway.model.errors import InvalidInput, NotSynced
from passway.model.override import override
from passway.sample.cluster import sample_objects
from passway.service.mirror import Mirror
from passway.service.ports import Cluster
from passway.store.audit import SqlAudit
from passway.store.database import Database, database, default_file, memory, prepare

HEADER_BYTES: Final = 16 * 1024
CONNECTIONS: Final = 512
KEEP_ALIVE_S: Final = 10
SHUTDOWN_S: Final = 10
READY_S: Final = 300.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger("passway.api")


@click.command("serve")
@click.option("--demo", is_flag=True, help="Serve the sample cluster, with tokens that are known.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0 takes any."
)
@click.option(
    "--tokens",
    "token_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML or JSON list of {token, user, role, namespaces}.",
)
@click.option(
    "--kubeconfig",
    metavar="PATH",
    type=click.Path(),
    help="The cluster to serve.  [default: what kubectl would use, else this pod's own]",
)
@click.option("--context", metavar="NAME", help="Context of the kubeconfig.")
@click.option(
    "--audit",
    metavar="URL",
    envvar="PASSWAY_AUDIT",
    help="Where changes are recorded: a file of SQLite, or postgresql://…; with --demo in memory."
    "  [env: PASSWAY_AUDIT; default: passway/audit.db in $XDG_STATE_HOME]",
)
@click.option("--access-log", is_flag=True, help="Log each request on stderr.")
def serve(
    demo: bool,
    host: str,
    port: int,
    token_file: Path | None,
    kubeconfig: str | None,
    context: str | None,
    audit: str | None,
    access_log: bool,
) -> None:
    """Run the REST service, on the cluster of a kubeconfig or on the sample."""
    if demo and (kubeconfig or context):
        raise click.UsageError("--demo and a kubeconfig exclude each other; keep one of them")
    if not demo and token_file is None:
        raise click.UsageError("--tokens FILE says who may ask; only --demo has tokens of its own")
    if not _loopback(host):
        raise click.UsageError(
            "served on a loopback address only, since there is no TLS yet; use --host 127.0.0.1"
        )
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("alembic").setLevel(logging.WARNING)
    tokens = Tokens(DEMO if token_file is None else _read(token_file))
    cluster = _sample() if demo else _live(kubeconfig or "", context or "")
    rows = SqlAudit(kept(audit, demo=demo))
    # The sample is of a moment of its own; what lives is judged at the time of the question.
    mirror = Mirror(cluster, now=None if demo else utc_now)
    with listen(host, port) as listener:
        app = create_app(cluster, tokens, mirror=mirror, audit=rows)
        server = Server(app, access_log=access_log)
        server.run(sockets=[listener])
    if server.failure is not None:
        raise server.failure


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


def _live(kubeconfig: str, context: str) -> Cluster:
    """The cluster of a kubeconfig, or the one that this pod runs in."""
    config = load_config(kubeconfig, Overrides(context=context), here(terminal=False))
    for warning in config.warnings:
        _log.warning("%s", warning)
    return KubeCluster(config)


def _read(path: Path) -> tuple[Credential, ...]:
    found = read_tokens(path)
    if readable_by_others(path):
        _log.warning("%s can be read by everybody on this machine; chmod 600 it", path)
    return found


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; raises InvalidInput when the address is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once only where the protocol is named; else each answer waits for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {error.strerror}", hint="choose another --port"
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """uvicorn, bounded; prints its address when the mirror is complete."""

    def __init__(self, app: FastAPI, *, access_log: bool = False) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level=logging.INFO if access_log else logging.WARNING,
                access_log=access_log,
                server_header=False,
                proxy_headers=False,
                h11_max_incomplete_event_size=HEADER_BYTES,
                limit_concurrency=CONNECTIONS,
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=SHUTDOWN_S,
            )
        )
        self._mirror = app.state.service.mirror
        self.failure: NotSynced | None = None
        self._announcing: list[asyncio.Task[None]] = []

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announcing = [
            asyncio.create_task(self._announce(listener)) for listener in sockets or ()
        ]

    async def _announce(self, listener: socket.socket) -> None:
        try:
            await self._mirror.ready(READY_S)
        except NotSynced as error:
            self.failure = error
            self.should_exit = True
            return
        gc.collect()
        gc.freeze()  # what was listed stays: no collection need look at it again
        print(f"serving on {address(listener)}", flush=True)

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._announcing:
            task.cancel()
        await super().shutdown(sockets)

    @override
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Both signals end the service in order; uvicorn would raise them once more."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
