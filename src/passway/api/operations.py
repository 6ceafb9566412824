"""The options of `passway serve` that whoever operates it sets, and the values they become.

Owns where it listens, TLS, logs, metrics and limits, and the rules between them: what is not
encrypted is served to this machine only, unless somebody says that a proxy in front encrypts. Who
may ask, and about which cluster, is not decided here.
"""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import wraps
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from fastapi import FastAPI

from passway.api import logs
from passway.api.server import Server, listen
from passway.api.tls import Certificate

F = TypeVar("F", bound=Callable[..., Any])
RATE: Final = 200.0
_FILE: Final = click.Path(path_type=Path, dir_okay=False)
_PORT: Final = click.IntRange(0, 65535)

_OPTIONS: Final = (
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option("--port", default=8080, show_default=True, type=_PORT, help="0 takes any."),
    click.option(
        "--tls-cert", type=_FILE, help="Certificate chain in PEM; read again when it changes."
    ),
    click.option("--tls-key", type=_FILE, help="Its private key in PEM, without a password."),
    click.option(
        "--insecure-http", is_flag=True,
        help="Serve other machines without TLS, behind a proxy that has it.",
    ),
    click.option(
        "--metrics-port", type=_PORT,
        help="Also serve /metrics, /healthz and /readyz here, in plain HTTP.",
    ),
    click.option(
        "--metrics-host", default="127.0.0.1", show_default=True,
        help="Address of --metrics-port.",
    ),
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
        help="How lines on stderr look.",
    ),
    click.option("--access-log", is_flag=True, help="Log each request on stderr."),
    click.option(
        "--rate-limit", metavar="N", default=RATE, show_default=True,
        type=click.FloatRange(0, 100_000),
        help="Requests a second of one asker, twice as many at once; 0 is no limit.",
    ),
    click.option(
        "--request-timeout", metavar="SECONDS", default=60.0, show_default=True,
        type=click.FloatRange(1, 3600), help="Longest time until an answer begins.",
    ),
    click.option(
        "--drain-seconds", metavar="SECONDS", default=0.0, show_default=True,
        type=click.FloatRange(0, 300),
        help="After SIGTERM, go on serving for so long while not ready.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operations:
    """What whoever operates the service has set."""

    host: str
    port: int
    tls_cert: Path | None
    tls_key: Path | None
    insecure_http: bool
    metrics_port: int | None
    metrics_host: str
    log_format: logs.Format
    access_log: bool
    rate_limit: float
    request_timeout: float
    drain_seconds: float

    def limits(self) -> dict[str, Any]:
        """What the application needs of it."""
        return {
            "rate_limit": self.rate_limit,
            "request_s": self.request_timeout,
            "access_log": self.access_log,
        }

    def run(self, app: FastAPI) -> None:
        """Serves until a signal; raises what stood in the way."""
        certificate = (
            Certificate(self.tls_cert, self.tls_key) if self.tls_cert and self.tls_key else None
        )
        with ExitStack() as sockets:
            listener = sockets.enter_context(listen(self.host, self.port))
            metrics = None
            if self.metrics_port is not None:
                metrics = listen(self.metrics_host, self.metrics_port, "--metrics-port")
                sockets.enter_context(metrics)
            server = Server(
                app, certificate=certificate, metrics=metrics, drain_s=self.drain_seconds
            )
            server.run(sockets=[listener])
        if server.failure is not None:
            raise server.failure


def operated(function: F) -> F:
    """Adds the options; the command receives one `operations`, and logs as they say."""

    @wraps(function)
    def wrapped(**given: Any) -> Any:
        options = {name: given.pop(name) for name in Operations.__dataclass_fields__}
        operations = Operations(**options)
        _check(operations)
        logs.configure(operations.log_format, sys.stderr)
        return function(operations=operations, **given)

    decorated: Callable[..., Any] = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[return-value] # takes what click passes


def _check(given: Operations) -> None:
    if (given.tls_cert is None) != (given.tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    if given.tls_cert and given.insecure_http:
        raise click.UsageError("--insecure-http and --tls-cert exclude each other; keep one")
    if not (_loopback(given.host) or given.tls_cert or given.insecure_http):
        raise click.UsageError(
            "without TLS it is served on a loopback address only: give --tls-cert and --tls-key, "
            "or --insecure-http behind a proxy that encrypts, or use --host 127.0.0.1"
        )


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
