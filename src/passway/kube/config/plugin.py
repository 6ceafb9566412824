"""Credentials from an exec plugin: run when needed, kept until shortly before they expire.

One run at a time, however many requests wait for it, because a plugin may open a browser. Every
failure is an Unauthenticated error that names the command (never its arguments), how it ended, the
end of its stderr without secrets, and what to do.
Source: k8s.io/client-go/plugin/pkg/client/auth/exec.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from typing import Final

from passway.kube.config import process
from passway.kube.config.credentials import checked_token
from passway.kube.config.exec_credential import VARIABLE, BadAnswer, Credential, answer, request
from passway.kube.config.kubeconfig import Cluster, Plugin
from passway.kube.config.redact import without_secrets
from passway.kube.config.surroundings import Surroundings
from passway.kube.config.tls import checked_pair
from passway.kube.config.trust import KeyPair
from passway.model.errors import PasswayError, Unauthenticated
from passway.model.override import override

TIMEOUT_S: Final = 60.0
TERMINAL_TIMEOUT_S: Final = 300.0
"""With a person at the terminal, who may have to log in with a browser first."""
MARGIN_S: Final = 30.0
CODE: Final = "EXEC_PLUGIN_FAILED"

_HEADER: Final = "Authorization"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_BY_HAND: Final = "log in again with the tool that the plugin belongs to, or run it by hand"


class PluginCredentials:
    """What the plugin gives, renewed a little before it expires and once after a 401."""

    def __init__(
        self,
        plugin: Plugin,
        cluster: Cluster,
        server: str,
        ca: bytes,
        surroundings: Surroundings,
        *,
        timeout_s: float | None = None,
    ) -> None:
        self._plugin = plugin
        self._cluster = cluster
        self._server = server
        self._ca = ca
        self._surroundings = surroundings
        self._timeout_s = timeout_s
        self._lock = asyncio.Lock()
        self._credential: Credential | None = None
        self._renew_at: float | None = None

    @override
    def __repr__(self) -> str:
        return f"PluginCredentials({self._plugin.command!r})"

    async def headers(self) -> dict[str, str]:
        return _headers(await self._current())

    async def certificate(self) -> KeyPair | None:
        return (await self._current()).pair

    async def renew(self, refused: Mapping[str, str]) -> bool:
        async with self._lock:
            old = self._credential
            if old is None or _headers(old).get(_HEADER) != refused.get(_HEADER):
                return True  # another request has renewed it already
            new = await self._run()
            return (new.token, new.pair) != (old.token, old.pair)

    async def _current(self) -> Credential:
        async with self._lock:
            credential = self._credential
            if credential is None or self._expired():
                credential = await self._run()
            return credential

    def _expired(self) -> bool:
        return self._renew_at is not None and self._surroundings.now() >= self._renew_at

    async def _run(self) -> Credential:
        interactive = self._interactive()
        ended = await self._ended(interactive)
        if ended.timed_out:
            raise self._failure(
                f"did not end within {self._limit(interactive):g} s", ended,
                "run it by hand to see what it waits for",
            )  # fmt: skip
        if ended.too_much:
            raise self._failure(f"wrote more than {process.MAX_OUTPUT} bytes", ended)
        if ended.code < 0:
            raise self._failure(f"was ended by signal {-ended.code}", ended)
        if ended.code > 0:
            raise self._failure(f"failed with exit code {ended.code}", ended)
        try:
            credential = answer(ended.stdout, self._plugin)
            if credential.token:
                checked_token(credential.token, "its output")
            if credential.pair is not None:
                checked_pair(credential.pair, "its output")
        except (BadAnswer, PasswayError) as error:
            raise self._failure(f"gave no usable credential: {error}", ended) from None
        self._keep(credential)
        return credential

    def _keep(self, credential: Credential) -> None:
        """A margin of 30 s, or a tenth of a short life: never so much that each request runs it."""
        self._credential, self._renew_at = credential, credential.expires
        if credential.expires is not None:
            life = max(0.0, credential.expires - self._surroundings.now())
            self._renew_at = credential.expires - min(MARGIN_S, life / 10)

    def _interactive(self) -> bool:
        if self._plugin.interactive_mode == "Never":
            return False
        if self._plugin.interactive_mode == "Always" and not self._surroundings.terminal:
            raise self._failure(
                "needs a terminal to ask on, and there is none", None,
                "run the command in a terminal, without its input from a file or a pipe",
            )  # fmt: skip
        return self._surroundings.terminal

    def _limit(self, interactive: bool) -> float:
        if self._timeout_s is not None:
            return self._timeout_s
        return TERMINAL_TIMEOUT_S if interactive else TIMEOUT_S

    async def _ended(self, interactive: bool) -> process.Ended:
        plugin, environ = self._plugin, self._surroundings.environ
        program = shutil.which(plugin.command, path=environ.get("PATH") or os.defpath)
        # As Go has it: a program in the current folder is not meant by a bare name.
        if program is None or not os.path.isabs(program):  # noqa: PTH117 - it is text
            hint = _CONTROL.sub(" ", plugin.install_hint).strip()
            problem = "is no program that can be run; the kubeconfig needs it for credentials"
            raise self._failure(problem, None, hint or "install it, or add its folder to PATH")
        about = request(plugin, interactive, self._cluster, self._server, self._ca)
        try:
            return await process.run(
                (program, *plugin.args),
                {**environ, **dict(plugin.env), VARIABLE: about},
                timeout_s=self._limit(interactive),
                interactive=interactive,
                say=self._surroundings.say if interactive else None,
            )
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or "null byte"
            raise self._failure(f"cannot be started: {reason}", None) from None

    def _failure(
        self, problem: str, ended: process.Ended | None, hint: str = _BY_HAND
    ) -> Unauthenticated:
        words = ""
        if ended is not None:
            # A stdout that is valid is a secret, and so is what stderr repeats of it.
            secrets = [value for _, value in self._plugin.env]
            secrets += [arg.partition("=")[2] for arg in self._plugin.args if "=" in arg]
            words = without_secrets(
                ended.stderr.decode("utf-8", "replace"),
                secrets,
                ended.stdout.decode("utf-8", "replace"),
            )
        told = f"; it says: {words}" if words else ""
        message = f"the exec plugin {self._plugin.command} {problem}{told}"
        return Unauthenticated(message, hint=hint, code=CODE)


def _headers(credential: Credential) -> dict[str, str]:
    return {_HEADER: f"Bearer {credential.token}"} if credential.token else {}
