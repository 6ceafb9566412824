"""Addresses: where the API server is, and which proxy the way leads through. Pure.

Proxies of the environment follow Go's rules (golang.org/x/net/http/httpproxy), because people set
them for kubectl: upper-case names first, NO_PROXY with hosts, suffixes, ports, addresses and
networks, and never a proxy for the own machine. A password may stand in a proxy's address, so only
`shown` is for people.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import SplitResult, urlsplit

from passway.kube.config.fields import invalid

_HOST: Final = re.compile(r"[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_.])?")
_BRACKETS: Final = re.compile(r"\[[^\[\]]+\](:[0-9]*)?")
_NO_URL: Final = re.compile(r"[^\x21-\x7e]|[\\\"<>^`{|}]")
_PORTS: Final = {"http": 80, "https": 443}
_HTTP: Final = frozenset(_PORTS)


@dataclass(frozen=True, slots=True)
class Proxy:
    """`source` says who named it: the field of the kubeconfig or the variable."""

    url: str = field(repr=False)
    shown: str
    source: str


def server(text: str, where: str) -> str:
    """The URL of an API server, with its path and without a slash at its end."""
    if not text:
        raise invalid(where, "no server", "add the URL of the API server (https://host:6443)")
    parts = _split(text, where, "https://host:6443")
    if parts.scheme not in _HTTP:
        raise invalid(where, "the server is no http or https URL", "write https://host:6443")
    if "@" in parts.netloc:
        raise invalid(where, "credentials stand in the URL", "move them to the user's entry")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def named_proxy(text: str, source: str) -> Proxy:
    """A proxy that a kubeconfig or a variable names."""
    parts = _split(text, source, "http://host:3128")
    if parts.scheme in {"socks5", "socks5h"}:
        raise invalid(
            source, "SOCKS proxies are not supported",
            "name an HTTP proxy, or open a tunnel and connect to its local port",
        )  # fmt: skip
    if parts.scheme not in _HTTP:
        raise invalid(source, "the proxy is no http or https URL", "write http://host:3128")
    return Proxy(text, f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", source)


def environment_proxy(server: str, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy that the environment names for a server."""
    parts = urlsplit(server)
    variable = f"{parts.scheme}_proxy"
    name = next((one for one in (variable.upper(), variable) if environ.get(one)), None)
    # In a CGI program HTTP_PROXY is a header of the client (golang.org/s/cgihttpproxy).
    if name is None or (parts.scheme == "http" and environ.get("REQUEST_METHOD")):
        return None
    if _direct(parts, environ.get("NO_PROXY") or environ.get("no_proxy") or ""):
        return None
    value = environ[name]
    return named_proxy(value if "://" in value else f"http://{value}", name)


def _split(text: str, where: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        if parts.port != 0 and _is_host(parts) and not _NO_URL.search(text):
            return parts
    except ValueError:
        pass  # a port or a bracket that is none
    raise invalid(where, "not a URL with a host", f"write it as {example}")


def _is_host(parts: SplitResult) -> bool:
    place = parts.netloc.rpartition("@")[2]
    if "[" not in place:
        return bool(_HOST.fullmatch(parts.hostname or ""))
    return bool(_BRACKETS.fullmatch(place) and ipaddress.IPv6Address(parts.hostname or ""))


def _direct(parts: SplitResult, no_proxy: str) -> bool:
    host = parts.hostname or ""
    port = parts.port or _PORTS[parts.scheme]
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(
        _matches(entry.strip().lower(), host, port, address) for entry in no_proxy.split(",")
    )


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _matches(entry: str, host: str, port: int, address: Address | None) -> bool:
    if entry == "*":
        return True
    if "/" in entry:
        return address is not None and _in_network(entry, address)
    wanted, wanted_port = _host_and_port(entry)
    if not wanted or wanted_port not in {"", str(port)}:
        return False
    wanted_address = _address(wanted)
    if wanted_address is not None or address is not None:
        return wanted_address == address
    if wanted.startswith(("*.", ".")):
        return host.endswith(wanted.removeprefix("*"))
    return host == wanted or host.endswith(f".{wanted}")


def _host_and_port(entry: str) -> tuple[str, str]:
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        return host, rest.removeprefix(":")
    host, colon, port = entry.rpartition(":")
    return (host, port) if colon and ":" not in host else (entry, "")


def _in_network(entry: str, address: Address) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False


def _address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
