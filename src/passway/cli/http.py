"""Requests to a Passway service: bounded, in time, to one address, errors as our own.

Owns limits and the way from HTTP to errors: the code of a problem document decides, its status
where the code is not known. Redirects are refused and proxies of the environment are not used, so
a token goes to the named address only.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec

from passway import __version__
from passway.cli import failures, words
from passway.cli.options import Usage
from passway.model import errors
from passway.service import documents as d

T = TypeVar("T")

MAX_BYTES: Final = 256 * 2**20
YAML: Final = "application/yaml"
JSON: Final = "application/json"
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_CHUNK: Final = 64 * 1024
_GATEWAY: Final = frozenset({408, 429, 502, 503, 504})
_BY_CODE: Final = {error.kind.code: error for error in errors.ERRORS}
_BY_STATUS: Final = {
    400: errors.InvalidInput, 401: errors.Unauthenticated, 403: errors.Forbidden,
    404: errors.NotFound, 405: errors.InvalidInput, 409: errors.Conflict, 413: errors.TooLarge,
    415: errors.InvalidInput, 422: errors.PreflightFailed,
}  # fmt: skip
_NOT_OURS: Final = "is this the address of a Passway service of this version?"


class Service:
    """The service at `url`; `timeout_s` None waits for ever."""

    def __init__(self, url: str, token: str | None, timeout_s: float | None) -> None:
        self._url = _checked(url)
        self._headers = {"Accept": JSON, "User-Agent": f"passway/{__version__}"}
        self._timeout_s = timeout_s
        if token:
            if not (token.isascii() and token.isprintable()) or " " in token:
                raise Usage("--token: a token has only printable ASCII characters and no spaces")
            self._headers["Authorization"] = f"Bearer {token}"
            parts = urlsplit(self._url)
            if parts.scheme == "http" and parts.hostname not in LOCAL:
                words.complain(
                    f"the token goes to {parts.hostname} unencrypted", severity="warning"
                )

    async def get(self, path: str, kind: type[T], **query: Any) -> T:
        return self.decoded(await self.ask("GET", path, query), kind)

    async def post(self, path: str, body: Any, kind: type[T], **query: Any) -> T:
        return self.decoded(await self.ask("POST", path, query, msgspec.json.encode(body)), kind)

    async def delete(self, path: str, kind: type[T], **query: Any) -> T:
        return self.decoded(await self.ask("DELETE", path, query), kind)

    def decoded(self, body: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.Unavailable(
                f"{self._url} did not give what was asked for: {error}", hint=_NOT_OURS
            ) from None

    async def ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        data: bytes | None = None,
        media_type: str = JSON,
    ) -> bytes:
        """The body of a good answer; raises a PasswayError otherwise."""
        headers = self._headers if data is None else {**self._headers, "Content-Type": media_type}
        timeout = aiohttp.ClientTimeout(total=self._timeout_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.request(
                    method,
                    f"{self._url}{path}",
                    params=_query(query),
                    data=data,
                    allow_redirects=False,
                ) as response,
            ):
                body = await _bounded(response)
        except TimeoutError:
            raise errors.Unavailable(
                f"{self._url} did not answer in time",
                hint="--request-timeout waits longer",
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            cause = getattr(error, "os_error", None) or error
            raise errors.Unavailable(
                f"cannot reach {self._url}: {cause or type(error).__name__}",
                hint="look at the address, and whether the service runs",
            ) from None
        if response.status in {200, 201}:
            return body
        raise _failure(response.status, body, self._url)


def _checked(url: str) -> str:
    """The address without what does not belong there."""
    if not _is_address(url):
        raise Usage(
            f"--server: {url[:100]!r} is not the address of a service",
            "write it as https://passway.example.com",
        )
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and parts.port != 0  # reading a wrong port raises
    except ValueError:
        return False
    extra = parts.query or parts.fragment or parts.username is not None
    return usable and parts.scheme in {"http", "https"} and not extra


def _query(given: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
        if value is not None
    }


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > MAX_BYTES:
            raise errors.Unavailable(f"the answer is larger than {MAX_BYTES} bytes", hint=_NOT_OURS)
    return bytes(body)


# -- failures -------------------------------------------------------------------------------------


def _failure(status: int, body: bytes, url: str) -> errors.PasswayError:
    """The error that an answer stands for."""
    if 300 <= status < 400:
        return errors.Unavailable(
            f"{url} redirects elsewhere, which is not followed", hint="name the right address"
        )
    try:
        problem = msgspec.json.decode(body, type=d.Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = f"{url} answered with status {status}"
        return _class(status, "")(text, hint=_NOT_OURS)
    return failures.told(
        _class(status, problem.code), problem.detail, hint=problem.hint or "", code=problem.code,
        documents=problem.issues,
    )  # fmt: skip


def _class(status: int, code: str) -> type[errors.PasswayError]:
    """By code, else by status; what a gateway says counts as not reachable."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status in _GATEWAY:
        return errors.Unavailable
    return _BY_STATUS.get(status, errors.PasswayError)
