"""A stand-in for network-resources-injector: the webhook that asks for virtual functions.

It does to a pod what the real one does: for every network attachment that the pod's annotation
names, one unit of the attachment's resource on the first container; a pod that names a missing
attachment is refused. It is reached by URL and its certificate is the bench's.
"""

import base64
import json
import ssl
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from tests.controlplane.plane import Plane

NAME: Final = "network-resources-injector-config"
CONFIGURATIONS: Final = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"
POOL: Final = "k8s.v1.cni.cncf.io/resourceName"
ATTACHMENTS: Final = "/apis/k8s.cni.cncf.io/v1/namespaces/{}/network-attachment-definitions/{}"


class Injector:
    """Serves from the start; `install` and `remove` say whether the cluster asks it."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._trusted = ssl.create_default_context(cafile=plane.keys.authority)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(plane.keys.certificate("server"), plane.keys.key("server"))
        self._server.socket = own.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def install(self) -> None:
        """From now on the API server asks it about every new pod with networks."""
        self._plane.request("POST", CONFIGURATIONS, self._configuration(), expected=(201, 409))

    def remove(self) -> None:
        self._plane.request("DELETE", f"{CONFIGURATIONS}/{NAME}", expected=(200, 404))

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def review(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to one AdmissionReview."""
        pod = request["object"]
        namespace = request["namespace"]
        wanted: dict[str, int] = {}
        for network in _networks(pod, namespace):
            found = self._attachment(*network)
            if found is None:
                message = f"there is no network attachment {'/'.join(network)}"
                return {"uid": request["uid"], "allowed": False, "status": {"message": message}}
            pool = (found["metadata"].get("annotations") or {}).get(POOL)
            if pool:
                wanted[pool] = wanted.get(pool, 0) + 1
        return {"uid": request["uid"], "allowed": True, **_patched(pod, wanted)}

    def _attachment(self, namespace: str, name: str) -> dict[str, Any] | None:
        asked = urllib.request.Request(
            f"{self._plane.server}{ATTACHMENTS.format(namespace, name)}",
            headers={"Authorization": f"Bearer {self._plane.token()}"},
        )
        try:
            with urllib.request.urlopen(asked, context=self._trusted, timeout=5) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return None

    def _configuration(self) -> dict[str, Any]:
        bundle = base64.b64encode(Path(self._plane.keys.authority).read_bytes()).decode()
        return {
            "metadata": {"name": NAME},
            "webhooks": [{
                "name": "network-resources-injector-config.k8s.cni.cncf.io",
                "clientConfig": {
                    "url": f"https://127.0.0.1:{self._server.server_port}/mutate",
                    "caBundle": bundle,
                },
                "rules": [{
                    "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                    "resources": ["pods"],
                }],
                "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 10,
            }],
        }  # fmt: skip


def _networks(pod: dict[str, Any], namespace: str) -> list[tuple[str, str]]:
    """(namespace, name) of each network in the pod's annotation, in either of its two forms."""
    text = (pod["metadata"].get("annotations") or {}).get(NETWORKS, "")
    if text.lstrip().startswith("["):
        listed = json.loads(text)
        return [(item.get("namespace") or namespace, item["name"]) for item in listed]
    found = []
    for part in filter(None, (item.strip() for item in text.split(","))):
        given, slash, name = part.partition("@")[0].rpartition("/")
        found.append((given if slash else namespace, name))
    return found


def _patched(pod: dict[str, Any], wanted: dict[str, int]) -> dict[str, Any]:
    if not wanted:
        return {}
    resources = pod["spec"]["containers"][0].get("resources") or {}
    amounts = {pool: str(count) for pool, count in wanted.items()}
    merged = {
        **resources,
        **{part: {**(resources.get(part) or {}), **amounts} for part in ("requests", "limits")},
    }
    patch = [{"op": "add", "path": "/spec/containers/0/resources", "value": merged}]
    return {
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
    }


def _handler(injector: Injector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps(
                {**asked, "request": None, "response": injector.review(asked["request"])}
            )
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_: object) -> None:
            """Nothing: what it decides is in the API server's answer."""

    return Handler
