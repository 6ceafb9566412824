"""KubeVirt on a plane: its real virt-api and virt-controller, without operator and without nodes.

Owns what virt-operator would have done: definitions, rights, certificates, webhooks and the
aggregated API, all from KubeVirt's own builders, which the executable prints once. Pods are bound
by the real scheduler; what a kubelet and virt-handler would report is played by `nodes`.
"""

import base64
import json
import ssl
import subprocess
import urllib.request
from pathlib import Path
from typing import Any, Final

from tests.controlplane.build import Programs, programs
from tests.controlplane.definitions import ATTACHMENTS, IMPORTER, install
from tests.controlplane.plane import Plane, free_port

NAMESPACE: Final = "kubevirt"
OBJECT: Final = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt"
RATE: Final = {"tokenBucketRateLimiter": {"qps": 1000, "burst": 2000}}
CONFIGURATION: Final[dict[str, Any]] = {
    "developerConfiguration": {"featureGates": ["HostDevices"]},
    **{
        f"{name}Configuration": {"restClient": {"rateLimiter": RATE}}
        for name in ("api", "controller", "webhook")
    },
}
"""What every configuration of the bench has; tests lay theirs over it."""
DEFINITION: Final = "CustomResourceDefinition"
COLLECTIONS: Final = {
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ConfigMap": "/api/v1/namespaces/{namespace}/configmaps",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "ValidatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    ),
    "MutatingWebhookConfiguration": (
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    ),
    "APIService": "/apis/apiregistration.k8s.io/v1/apiservices",
}  # fmt: skip
_LAST: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")
"""Kinds that only work once virt-api answers."""


class KubeVirt:
    """KubeVirt on a running plane; it ends with the plane."""

    def __init__(self, plane: Plane, found: Programs | None = None) -> None:
        self.plane = plane
        self._programs = found or programs("kubevirt")
        self._port, self._controller_port = free_port(), free_port()

    def start(self) -> None:
        """Installs everything and starts both; returns when a VM can be created."""
        objects = self.define()
        self._start_api()
        for obj in objects:
            if obj["kind"] in _LAST:
                self._create(self._directed(obj))
        self._wait_for_aggregation()
        self._start_controller()

    def define(self) -> list[dict[str, Any]]:
        """The definitions and the KubeVirt object, without a component; returns all objects."""
        objects = _manifests(self._programs)
        self.plane.request(
            "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}, expected=(201, 409)
        )
        # KubeVirt ends itself when the definitions of CDI come later.
        definitions = [obj for obj in objects if obj["kind"] == DEFINITION]
        install(self.plane, [*definitions, ATTACHMENTS, *IMPORTER])
        for obj in objects:
            if obj["kind"] not in {DEFINITION, *_LAST}:
                self._create(obj)
        self._declare()
        return objects

    def configure(self, configuration: dict[str, Any]) -> None:
        """Replaces spec.configuration, over what every configuration has; it acts at once."""
        wanted = {**CONFIGURATION, **configuration}
        developer = {
            **CONFIGURATION["developerConfiguration"],
            **configuration.get("developerConfiguration", {}),
        }
        wanted["developerConfiguration"] = developer
        patch = [{"op": "replace", "path": "/spec/configuration", "value": wanted}]
        self.plane.request("PATCH", OBJECT, patch, content="application/json-patch+json")

    # -- steps ----------------------------------------------------------------------------------

    def _create(self, obj: dict[str, Any]) -> None:
        meta = obj["metadata"]
        collection = COLLECTIONS[obj["kind"]].format(namespace=meta.get("namespace"))
        if obj["kind"] == "ConfigMap":
            obj["data"] = {"ca-bundle": Path(self.plane.keys.authority).read_text()}
        self.plane.request("POST", collection, obj, expected=(201, 409))

    def _declare(self) -> None:
        """The KubeVirt object, as virt-operator leaves it."""
        made = {
            "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": NAMESPACE},
            "spec": {"configuration": CONFIGURATION},
        }  # fmt: skip
        self.plane.request("POST", OBJECT.rpartition("/")[0], made, expected=(201, 409))
        status = {
            "phase": "Deployed", "observedKubeVirtVersion": "v1.9.0",
            "defaultArchitecture": "amd64",
        }  # fmt: skip
        self.plane.request(
            "PATCH", f"{OBJECT}/status", {"status": status},
            content="application/merge-patch+json",
        )  # fmt: skip

    def _start_api(self) -> None:
        self.plane.request(
            "POST",
            f"/api/v1/namespaces/{NAMESPACE}/services",
            {
                "metadata": {"name": "virt-api"},
                "spec": {
                    "type": "ExternalName", "externalName": "localhost",
                    "ports": [{"port": self._port}],
                },
            },
            expected=(201, 409),
        )  # fmt: skip
        keys = self.plane.keys
        api = self.plane.add(
            "virt-api", self._programs["virt-api"],
            "--kubeconfig", self._account("kubevirt-apiserver"),
            "--listen", "127.0.0.1", "--port", str(self._port),
            "--tls-cert-file", keys.certificate("server"), "--tls-key-file", keys.key("server"),
            "--handler-cert-file", keys.certificate("handler"),
            "--handler-key-file", keys.key("handler"),
        )  # fmt: skip
        api.wait_until(lambda: self._says(self._port, "/healthz", ""))

    def _start_controller(self) -> None:
        keys = self.plane.keys
        controller = self.plane.add(
            "virt-controller", self._programs["virt-controller"],
            "--kubeconfig", self._account("kubevirt-controller"),
            "--listen", "127.0.0.1", "--port", str(self._controller_port),
            "--launcher-image", "launcher", "--exporter-image", "exporter",
            "--prom-cert-file", keys.certificate("server"),
            "--prom-key-file", keys.key("server"),
        )  # fmt: skip
        controller.wait_until(
            lambda: self._says(self._controller_port, "/leader", '"leader":"true"')
        )

    def _account(self, name: str) -> str:
        """A kubeconfig with the token of a service account of KubeVirt."""
        answer = self.plane.request(
            "POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
             "spec": {"expirationSeconds": 24 * 3600}},
        )  # fmt: skip
        return self.plane.kubeconfig(name, {"token": answer["status"]["token"]}, NAMESPACE)

    def _directed(self, obj: dict[str, Any]) -> dict[str, Any]:
        """A webhook configuration or aggregated API that leads to our virt-api."""
        bundle = base64.b64encode(Path(self.plane.keys.authority).read_bytes()).decode()
        for webhook in obj.get("webhooks", ()):
            path = webhook["clientConfig"]["service"]["path"]
            url = f"https://127.0.0.1:{self._port}{path}"
            webhook["clientConfig"] = {"url": url, "caBundle": bundle}
        if obj["kind"] == "APIService":
            obj["spec"]["service"]["port"] = self._port
            obj["spec"]["caBundle"] = bundle
            obj["spec"].pop("insecureSkipTLSVerify", None)
        return obj

    def _wait_for_aggregation(self) -> None:
        path = f"{COLLECTIONS['APIService']}/v1.subresources.kubevirt.io"

        def available() -> bool:
            status = self.plane.request("GET", path).get("status", {})
            return any(
                condition["type"] == "Available" and condition["status"] == "True"
                for condition in status.get("conditions") or ()
            )

        self.plane.component("virt-api").wait_until(available)

    def _says(self, port: int, path: str, wanted: str) -> bool:
        """Whether the component answers, with that text in it."""
        trusted = ssl.create_default_context(cafile=self.plane.keys.authority)
        try:
            url = f"https://127.0.0.1:{port}{path}"
            with urllib.request.urlopen(url, context=trusted, timeout=5) as answer:
                return wanted in answer.read().decode().replace(" ", "").replace("\n", "")
        except OSError:
            return False


def _manifests(found: Programs) -> list[dict[str, Any]]:
    """What the executable prints; kept beside it, since each start costs seconds."""
    executable = Path(found["manifests"][0])
    kept = executable.with_name("manifests.jsonl")
    if not kept.exists():
        printed = subprocess.run(
            [*found["manifests"], NAMESPACE], check=True, timeout=120, stdout=subprocess.PIPE
        ).stdout
        part = kept.with_suffix(".part")
        part.write_bytes(printed)
        part.replace(kept)
    return [json.loads(line) for line in kept.read_text().splitlines()]
