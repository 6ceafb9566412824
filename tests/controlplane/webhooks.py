"""Admission webhooks by URL, for what a cluster's own webhooks do to VMIs and launchers.

Owns one HTTPS server on 127.0.0.1 that answers each review with what a test wants, and the
configuration that sends the objects of one namespace to it.
"""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.controlplane.plane import Plane

GROUP = "/apis/admissionregistration.k8s.io/v1"


@contextmanager
def webhook(
    plane: Plane, namespace: str, resource: str, *, deny: str = "", patch: Any = None,
    warnings: tuple[str, ...] = (),
) -> Iterator[str]:  # fmt: skip
    """A webhook for new objects of `resource` (`pods`, `group/plural`) in the namespace; its name.

    It refuses with `deny`, or changes the object with the JSON patch `patch`.
    """
    answer: dict[str, Any] = {"allowed": not deny, "warnings": list(warnings)}
    if deny:
        answer["status"] = {"message": deny, "code": 403}
    if patch is not None:
        answer |= {"patchType": "JSONPatch",
                   "patch": base64.b64encode(json.dumps(patch).encode()).decode()}  # fmt: skip

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = {**answer, "uid": review["request"]["uid"]}
            body = json.dumps({**review, "request": None, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.keys.certificate("server"), plane.keys.key("server"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    kind = "mutating" if patch is not None else "validating"
    name = f"{namespace}.{kind}.example.com"
    group, _, plural = resource.rpartition("/")
    bundle = base64.b64encode(Path(plane.keys.authority).read_bytes()).decode()
    configuration = {
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": name, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 5,
                "clientConfig": {
                    "url": f"https://127.0.0.1:{server.server_port}/", "caBundle": bundle,
                },
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": namespace}
                },
                "rules": [
                    {"operations": ["CREATE"], "apiGroups": [group], "apiVersions": ["*"],
                     "resources": [plural]}
                ],
            }
        ],
    }  # fmt: skip
    collection = f"{GROUP}/{kind}webhookconfigurations"
    plane.request("POST", collection, configuration)
    try:
        yield name
    finally:
        plane.request("DELETE", f"{collection}/{name}")
        server.shutdown()
        server.server_close()
        thread.join(10)
