"""A Kubernetes control plane on 127.0.0.1: etcd, API server, scheduler, controller manager.

Owns the flags, the ports and the order of the start; `Kubevirt` in `kubevirts` puts KubeVirt on it.
Nodes are objects that tests create: no node ever reports, so the controllers that watch for that
are off, and so is the admission plugin that would keep a new node tainted.
"""

import http.client
import json
import re
import secrets
import socket
import ssl
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.controlplane.build import Programs, programs
from tests.controlplane.keys import Keys, make_keys
from tests.controlplane.observer import Observer
from tests.controlplane.process import Component

OFF: Final = (
    "node-lifecycle-controller", "taint-eviction-controller",
    "persistentvolume-attach-detach-controller", "service-lb-controller",
    "node-route-controller", "cloud-node-lifecycle-controller",
    "root-ca-certificate-publisher-controller",
)  # fmt: skip
"""Controllers that are switched off, where the release has them."""
NOBODY: Final = "nobody"
"""A user whom nothing is allowed."""


class Answer(Exception):
    """A status of the API server that the caller did not expect."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(f"{status}: {json.dumps(body)[:2000]}")
        self.status = status
        self.body = body


class Plane:
    """`with Plane(folder) as plane:`; the folder holds keys, data and logs.

    `only_api`: without scheduler and controller manager, so that nothing changes by itself.
    """

    def __init__(
        self,
        folder: Path,
        found: Programs | None = None,
        *,
        only_api: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self._only_api = only_api
        self._environment = environment
        self._programs = found or programs("kubernetes")
        self._components: dict[str, Component] = {}
        self._observer: Observer | None = None
        self.keys: Keys = make_keys(folder / "keys")
        self.port = free_port()
        self.etcd_port, self._peer_port = free_port(), free_port()
        self._tokens = {"admin": secrets.token_hex(16), NOBODY: secrets.token_hex(16)}
        self._kept = threading.local()
        self._opened: list[http.client.HTTPSConnection] = []

    @property
    def _connection(self) -> http.client.HTTPSConnection | None:
        """That of this thread."""
        found: http.client.HTTPSConnection | None = getattr(self._kept, "connection", None)
        return found

    @_connection.setter
    def _connection(self, made: http.client.HTTPSConnection | None) -> None:
        self._kept.connection = made
        if made is not None:
            self._opened.append(made)

    # -- life -----------------------------------------------------------------------------------

    def __enter__(self) -> "Plane":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """All four; returns when pods can be created and are scheduled."""
        self.start_etcd()
        self.start_apiserver()
        if self._only_api:
            return
        self._start_scheduler()
        self._start_controllers()
        self.component("kube-controller-manager").wait_until(self._has_default_account)

    def stop(self) -> None:
        """Ends everything at once."""
        for component in reversed(self._components.values()):
            component.stop()
        self._components.clear()
        if self._observer is not None:
            self._observer.stop()
            self._observer = None
        for connection in self._opened:
            connection.close()
        self._opened.clear()
        self._connection = None

    @property
    def observer(self) -> Observer:
        """What the scheduler's filters leave."""
        if self._observer is None:
            self._observer = Observer()
        return self._observer

    def component(self, name: str) -> Component:
        """A component by the name of its program."""
        return self._components[name]

    def check(self) -> None:
        """Raises Died if any component is gone."""
        for component in self._components.values():
            component.check()

    def add(self, name: str, command: tuple[str, ...], *flags: str) -> Component:
        """Starts one more program that ends with the plane."""
        made = Component(name, (*command, *flags), self.folder, self._environment)
        self._components[name] = made
        return made

    def start_etcd(self) -> None:
        client, peer = (f"http://127.0.0.1:{port}" for port in (self.etcd_port, self._peer_port))
        etcd = self.add(
            "etcd", self._programs["etcd"], "--data-dir", str(self.folder / "etcd"),
            "--unsafe-no-fsync", "--log-level", "warn", "--quota-backend-bytes", "8589934592",
            "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", f"default={peer}",
        )  # fmt: skip
        etcd.wait_until(lambda: _answers(self.etcd_port))

    def start_apiserver(self) -> None:
        (self.folder / "tokens.csv").write_text(
            f'{self._tokens["admin"]},admin,1,"system:masters"\n{self._tokens[NOBODY]},{NOBODY},2\n'
        )
        keys = self.keys
        server = self.add(
            "kube-apiserver", self._programs["kube-apiserver"],
            "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
            "--secure-port", str(self.port), "--endpoint-reconciler-type", "none",
            "--etcd-servers", f"http://127.0.0.1:{self.etcd_port}",
            "--tls-cert-file", keys.certificate("server"),
            "--tls-private-key-file", keys.key("server"),
            "--client-ca-file", keys.authority,
            "--token-auth-file", str(self.folder / "tokens.csv"),
            "--authorization-mode", "Node,RBAC",
            "--service-account-issuer", "https://kubernetes.default.svc",
            "--service-account-key-file", keys.certificate("accounts"),
            "--service-account-signing-key-file", keys.key("accounts"),
            "--service-cluster-ip-range", "10.0.0.0/16", "--allow-privileged",
            "--max-requests-inflight", "2000", "--max-mutating-requests-inflight", "2000",
            "--disable-admission-plugins", "TaintNodesByCondition",
            "--requestheader-client-ca-file", keys.authority,
            "--requestheader-allowed-names", "front-proxy",
            "--requestheader-username-headers", "X-Remote-User",
            "--requestheader-group-headers", "X-Remote-Group",
            "--requestheader-extra-headers-prefix", "X-Remote-Extra-",
            "--proxy-client-cert-file", keys.certificate("front-proxy"),
            "--proxy-client-key-file", keys.key("front-proxy"),
        )  # fmt: skip
        server.wait_until(self.is_ready)

    def _start_scheduler(self) -> None:
        config = self.folder / "scheduler.json"
        config.write_text(
            json.dumps(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "clientConnection": {
                        "kubeconfig": self._certified("scheduler"), "qps": 1000, "burst": 2000,
                    },
                    "leaderElection": {"leaderElect": False},
                    "extenders": [self.observer.configuration()],
                }
            )
        )  # fmt: skip
        own = self._certified("scheduler")
        port = free_port()
        scheduler = self.add(
            "kube-scheduler", self._programs["kube-scheduler"], "--config", str(config),
            "--authentication-kubeconfig", own, "--authorization-kubeconfig", own,
            "--bind-address", "127.0.0.1", "--secure-port", str(port),
        )  # fmt: skip
        scheduler.wait_until(lambda: _answers(port))

    def _start_controllers(self) -> None:
        own, keys = self._certified("controller-manager"), self.keys
        self.add(
            "kube-controller-manager", self._programs["kube-controller-manager"],
            "--kubeconfig", own, "--authentication-kubeconfig", own,
            "--authorization-kubeconfig", own, "--bind-address", "127.0.0.1",
            "--secure-port", str(free_port()),
            "--service-account-private-key-file", keys.key("accounts"),
            "--root-ca-file", keys.authority, "--use-service-account-credentials",
            "--cluster-signing-cert-file", keys.authority,
            "--cluster-signing-key-file", keys.key("ca"), "--leader-elect=false",
            "--kube-api-qps", "1000", "--kube-api-burst", "2000",
            "--controllers", ",".join(("*", *(f"-{name}" for name in self._switched_off()))),
        )  # fmt: skip

    def _switched_off(self) -> list[str]:
        """Those of OFF that this release knows: it refuses names that it does not."""
        program = self._programs["kube-controller-manager"]
        told = subprocess.run(
            [*program, "--help"], check=True, capture_output=True, text=True, timeout=60
        )
        known = set(re.findall(r"[a-z-]+-controller\b", told.stdout))
        assert known, told.stderr[-1000:]
        return [name for name in OFF if name in known]

    # -- kubeconfigs ----------------------------------------------------------------------------

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def token(self, user: str = "admin") -> str:
        """The static token of `admin` or NOBODY."""
        return self._tokens[user]

    def kubeconfig(self, name: str, user: Mapping[str, str], namespace: str = "default") -> str:
        """Writes a kubeconfig for a user entry and returns its path."""
        path = self.folder / f"{name}.kubeconfig"
        cluster = {"server": self.server, "certificate-authority": self.keys.authority}
        context = {"cluster": "plane", "user": name, "namespace": namespace}
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1", "kind": "Config", "current-context": "plane",
                    "clusters": [{"name": "plane", "cluster": cluster}],
                    "contexts": [{"name": "plane", "context": context}],
                    "users": [{"name": name, "user": dict(user)}],
                }
            )
        )  # fmt: skip
        path.chmod(0o600)
        return str(path)

    def admin(self) -> str:
        """The path of a kubeconfig of the admin."""
        return self.kubeconfig("admin", {"token": self.token()})

    def _certified(self, name: str) -> str:
        return self.kubeconfig(
            name,
            {
                "client-certificate": self.keys.certificate(name),
                "client-key": self.keys.key(name),
            },
        )

    def kubectl(self) -> tuple[str, ...]:
        """The real kubectl, on this plane as admin."""
        return (*self._programs["kubectl"], "--kubeconfig", self.admin())

    # -- requests, as admin ---------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        headers: Mapping[str, str] | None = None,
        expected: tuple[int, ...] = (200, 201, 202),
    ) -> Any:
        """One request as admin; raises Answer for another status than those expected."""
        sent = {"Authorization": f"Bearer {self.token()}", "Content-Type": content}
        text = None if body is None else json.dumps(body)
        kept = self._connection is not None
        try:
            response, read = self._exchange(method, path, text, {**sent, **(headers or {})})
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError):
            if not kept:
                raise
            # The server closed a connection that was idle for long; nothing was asked yet.
            response, read = self._exchange(method, path, text, {**sent, **(headers or {})})
        kind = response.getheader("Content-Type", "")
        answer = json.loads(read) if kind.startswith("application/json") else read.decode()
        if response.status not in expected:
            raise Answer(response.status, answer)
        return answer

    def _exchange(
        self, method: str, path: str, text: str | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        if self._connection is None:
            trusted = ssl.create_default_context(cafile=self.keys.authority)
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=trusted, timeout=60
            )
        try:
            self._connection.request(method, path, text, dict(headers))
            response = self._connection.getresponse()
            return response, response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise

    def empty(self, *namespaces: str) -> None:
        """The namespaces are there, and hold no ConfigMap and no ResourceQuota."""
        for name in namespaces:
            self.request(
                "POST", "/api/v1/namespaces", {"metadata": {"name": name}}, expected=(201, 409)
            )
            for plural in ("configmaps", "resourcequotas"):
                path = f"/api/v1/namespaces/{name}/{plural}"
                for item in self.request("GET", path)["items"]:
                    one = f"{path}/{item['metadata']['name']}"
                    patch = {"metadata": {"finalizers": None}}
                    self.request("PATCH", one, patch, content="application/merge-patch+json")
                    self.request("DELETE", one, expected=(200, 404))

    def is_ready(self) -> bool:
        """Whether the API server says so."""
        try:
            return bool(self.request("GET", "/readyz") == "ok")
        except (OSError, http.client.HTTPException, Answer):
            return False

    def _has_default_account(self) -> bool:
        try:
            self.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")
        except Answer:
            return False
        return True

    def end(self) -> None:
        """Ends everything politely: what was written lies in the folder `etcd`."""
        for name in reversed(self._components):
            self._components[name].end()
        self.stop()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
