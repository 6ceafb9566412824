"""The headers that make a request count as somebody else's. Pure.

Source: k8s.io/client-go/transport (round_trippers). A value that a header cannot carry is refused:
a line break in it would be a header of its own.
"""

import re
from typing import Final

from passway.kube.config.fields import invalid
from passway.kube.config.kubeconfig import User

Headers = tuple[tuple[str, str], ...]

_NO_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|^\s|\s$")
_TOKEN: Final = frozenset(b"!#$&'*+-.^_`|~0123456789"
                          b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")  # fmt: skip


def headers(user: User) -> Headers:
    """Names and values, in the order of the user's entry; a name may occur several times."""
    if not user.as_user:
        return ()
    found = [("Impersonate-User", user.as_user)]
    if user.as_uid:
        found.append(("Impersonate-Uid", user.as_uid))
    found += [("Impersonate-Group", group) for group in user.as_groups]
    for key, values in user.as_extra:
        found += [(f"Impersonate-Extra-{_escaped(key)}", value) for value in values]
    for name, value in found:
        if unsendable(value):
            raise invalid(user.where, f"the value for {name} has characters no header can carry")
    return tuple(found)


def unsendable(value: str) -> bool:
    """Has characters that would not arrive in a header as they are."""
    return bool(_NO_VALUE.search(value))


def _escaped(key: str) -> str:
    return "".join(chr(byte) if byte in _TOKEN else f"%{byte:02X}" for byte in key.encode())
