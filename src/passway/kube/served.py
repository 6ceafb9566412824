"""Why an API server answers 404 to the list of a kind: what it says of the kind's group.

Owns the difference between a kind that is not there, of which there are no objects, and one that
is there in another version, of which there may be many that were not seen. It is asked only after
a 404, and takes nothing for granted: what cannot be decided is no NotFound.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec

from passway.cluster.kinds import Kind
from passway.kube.objects import expect_segment
from passway.kube.status import refusal
from passway.kube.wire import decoded
from passway.model.errors import PasswayError, Unavailable
from passway.service.ports import OtherVersion

VERSIONS: Final = 10
Ask = Callable[[str, str], Awaitable[tuple[int, bytes]]]
"""Method and path -> status and body."""
T = TypeVar("T")


class _Version(msgspec.Struct):
    version: str


class _Group(msgspec.Struct):
    versions: list[_Version]


class _Resource(msgspec.Struct):
    name: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


async def absence(ask: Ask, kind: Kind) -> PasswayError:
    """The error for a kind whose list is 404; raises what stands in the way of finding out."""
    absent = refusal(404, b"", "list", kind, None, None)
    if not kind.group:
        return absent
    root = f"/apis/{quote(expect_segment(kind.group, 'a group'), safe='')}"
    group = await _asked(ask, root, _Group, kind)
    for version in [one.version for one in group.versions][:VERSIONS] if group else []:
        path = f"{root}/{quote(expect_segment(version, 'a version'), safe='')}"
        listed = await _asked(ask, path, _Resources, kind)
        if listed and any(resource.name == kind.plural for resource in listed.resources):
            return _served(kind, version)
    return absent


def _served(kind: Kind, version: str) -> PasswayError:
    if version == kind.version:  # it has come meanwhile, or what serves it is not ready
        return Unavailable(
            f"{kind.resource} cannot be listed yet", hint="try again in a few seconds"
        )
    return OtherVersion(
        f"the API server has {kind.resource} in version {version}, and not in {kind.version}",
        hint="use a release of Passway that reads this version",
    )


async def _asked(ask: Ask, path: str, shape: type[T], kind: Kind) -> T | None:
    status, body = await ask("GET", path)
    if status == 404:
        return None
    if status != 200:
        raise refusal(status, body, "get", kind, None, None)
    return decoded(body, shape, path)
