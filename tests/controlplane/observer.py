"""What the scheduler thinks: the nodes that passed every filter, for each pod it looked at.

A scheduler extender that changes nothing: the scheduler sends it the nodes its own filters left,
which no status and no event ever tells. It is asked only where some node is left; a pod that it
was never asked about fits nowhere.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

LIMIT: Final = 64 << 20


class Observer:
    """Serves on 127.0.0.1 until `stop`; `feasible` answers by the pod's uid."""

    def __init__(self) -> None:
        self._seen: dict[str, frozenset[str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._seen))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def configuration(self) -> dict[str, Any]:
        """The entry under `extenders` of a KubeSchedulerConfiguration."""
        return {
            "urlPrefix": f"http://127.0.0.1:{self._server.server_port}", "filterVerb": "filter",
            "nodeCacheCapable": True, "ignorable": True, "httpTimeout": "5s",
        }  # fmt: skip

    def feasible(self, uid: str) -> frozenset[str]:
        """The nodes that the filters left when the pod was last looked at with success."""
        return self._seen.get(uid, frozenset())

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(seen: dict[str, frozenset[str]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length", 0)), LIMIT)
            asked = json.loads(self.rfile.read(length))
            names = asked.get("NodeNames") or []
            seen[asked["Pod"]["metadata"]["uid"]] = frozenset(names)
            answer = json.dumps({"NodeNames": names}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nothing: the scheduler has a log of its own."""

    return Handler
