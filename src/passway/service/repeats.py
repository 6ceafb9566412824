"""A creation that is asked for again with the same key: the VM itself says that it was made.

Owns the two marks on a VM (a label for who asked with which key, an annotation for what was asked)
and what a repeat means. Nothing is kept anywhere else, so that every replica gives the same answer,
also after a restart; a VM that was deleted can be made anew with its key. Keys and names of people
stand in the marks as hashes only.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec

from passway.cluster import kinds
from passway.model.errors import Conflict
from passway.service.ports import Cluster, Object

KEY: Final = "passway.dev/idempotency-key"
REQUEST: Final = "passway.dev/request"
_LABEL_CHARACTERS: Final = 63


def marked(machine: Mapping[str, Any], user: str, key: str) -> Object:
    """The VirtualMachine with the marks of its request."""
    meta = machine["metadata"]
    asked = msgspec.json.encode([user, meta["namespace"], key])
    labels = {**(meta.get("labels") or {}), KEY: sha256(asked).hexdigest()[:_LABEL_CHARACTERS]}
    wanted = sha256(msgspec.json.encode(machine, order="sorted")).hexdigest()
    annotations = {**(meta.get("annotations") or {}), REQUEST: wanted}
    return {**machine, "metadata": {**meta, "labels": labels, "annotations": annotations}}


async def made_before(cluster: Cluster, machine: Mapping[str, Any]) -> Object | None:
    """The VM that a marked request has made already; raises Conflict if that asked for another."""
    meta = machine["metadata"]
    labels = {KEY: meta["labels"][KEY]}
    found, _ = await cluster.list(kinds.MACHINES, meta["namespace"], labels=labels)
    for item in found:
        annotations = item["metadata"].get("annotations") or {}
        if annotations.get(REQUEST) != meta["annotations"][REQUEST]:
            raise Conflict(
                f'the key was used for another request, which made "{item["metadata"]["name"]}"',
                code="IDEMPOTENCY_KEY_REUSED",
                hint="take a new Idempotency-Key for a new request",
            )
        return item
    return None
