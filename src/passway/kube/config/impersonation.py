"""The headers that make a request count as somebody else's. Pure.

Source: k8s.io/client-go/transport (round_trippers). A value that a header cannot carry is refused:
a line break in it would be a header of its own.
"""

import re
from collections.abc import Iterable
from typing import Final

from passway.kube.config.fields import invalid
from passway.kube.config.kubeconfig import User
from passway.model.errors import Forbidden
from passway.service.gate import Identity

Headers = tuple[tuple[str, str], ...]
Extra = Iterable[tuple[str, tuple[str, ...]]]

_NO_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]|^\s|\s$")
_TOKEN: Final = frozenset(b"!#$&'*+-.^_`|~0123456789"
                          b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")  # fmt: skip


def headers(user: User) -> Headers:
    """Names and values, in the order of the user's entry; a name may occur several times."""
    if not user.as_user:
        return ()
    found = _headers(user.as_user, user.as_uid, user.as_groups, user.as_extra)
    for name, value in found:
        if unsendable(value):
            raise invalid(user.where, f"the value for {name} has characters no header can carry")
    return found


def acting(who: Identity) -> Headers:
    """The same for somebody whom the cluster knows; raises Forbidden."""
    found = _headers(who.user, who.uid, who.groups, who.extra)
    for name, value in found:
        if not value or unsendable(value):
            raise Forbidden(
                f"nobody can write for you: the value for {name} cannot be sent in a header",
                hint="ask for another name, or for a service that does not impersonate",
            )
    return found


def _headers(user: str, uid: str, groups: Iterable[str], extra: Extra) -> Headers:
    found = [("Impersonate-User", user)]
    if uid:
        found.append(("Impersonate-Uid", uid))
    found += [("Impersonate-Group", group) for group in groups]
    for key, values in extra:
        found += [(f"Impersonate-Extra-{_escaped(key)}", value) for value in values]
    return tuple(found)


def unsendable(value: str) -> bool:
    """Has characters that would not arrive in a header as they are."""
    return bool(_NO_VALUE.search(value))


def _escaped(key: str) -> str:
    return "".join(
        chr(byte) if byte in _TOKEN else f"%{byte:02X}" for byte in key.encode("utf-8", "replace")
    )
