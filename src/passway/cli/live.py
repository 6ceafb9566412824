"""The cluster of a kubeconfig as a Backend: read once at the beginning, then asked and written to.

Owns the way from options to a connection. What cannot be read is unread or forbidden in the
snapshot, like anywhere else; what is written goes to the API server, guarded as the service does.
"""

import asyncio
import gc
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Final

from passway.cli.loop import opened, run
from passway.cli.options import Source
from passway.cli.words import complain
from passway.cluster.kinds import Kind
from passway.kube.client import KubeCluster
from passway.kube.config import ClientConfig, Overrides, load_config
from passway.service.audit import Actor
from passway.service.changes import Unrecorded
from passway.service.mirror import Mirror

if TYPE_CHECKING:
    from passway.service.backend import Backend

_ANSWERS: Final = "passway.service.cluster_backend"


def open_cluster(source: Source, reads: Iterable[Kind], namespaces: Iterable[str]) -> "Backend":
    """Connects, reads each of the kinds once, and answers from that; raises PasswayError."""
    config = configuration(source)
    # What may not be read is told where an answer depends on it, not kind by kind.
    logging.getLogger("passway.mirror").addHandler(logging.NullHandler())
    cluster = opened(KubeCluster(config, timeout_s=source.timeout_s))
    mirror = Mirror(cluster, read=reads, namespaces=namespaces, now=_now)
    gc.disable()  # of tens of thousands of records none is garbage
    try:
        run(_read(mirror))
    finally:
        gc.freeze()
        gc.enable()
    from passway.service.cluster_backend import ClusterBackend

    return ClusterBackend(cluster, mirror, Unrecorded(), Actor(config.user or "kubeconfig"))


async def _read(mirror: Mirror) -> None:
    """Reads, and loads what the answer needs while the server works."""
    loading = asyncio.create_task(asyncio.to_thread(import_module, _ANSWERS))
    await mirror.read()
    await loading


def configuration(source: Source) -> ClientConfig:
    """The client's configuration; what a person should know of it goes to stderr."""
    overrides = Overrides(
        context=source.context or "",
        cluster=source.cluster or "",
        user=source.user or "",
        as_user=source.as_user or "",
        as_groups=source.as_groups,
    )
    config = load_config(source.kubeconfig or "", overrides)
    for warning in config.warnings:
        complain(warning, severity="warning")
    return config


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
