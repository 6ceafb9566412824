"""Definitions of custom resources beside KubeVirt's own, and how they come onto a plane.

Three sources: small ones written here for what no Go module gives, files of projects' Go modules,
and, where `PASSWAY_CRDS` names a folder (`GROUP/PLURAL.yaml`), official files from there. None of
those that are not ours is kept in the repository.
"""

import json
import os
import subprocess
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from tests.controlplane.build import go
from tests.controlplane.plane import Plane

Definition = dict[str, Any]
COLLECTION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MODULES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "sigs.k8s.io/cluster-api@v1.14.0": (
        "h1:Cu0WV9dSdL+Do22q2LJ4OBZdm+d/6ep/L04yqFnifuM=",
        ("core/config/crd/bases", "bootstrap/kubeadm/config/crd/bases",
         "controlplane/kubeadm/config/crd/bases"),
    ),
    "sigs.k8s.io/cluster-api-provider-kubevirt@v0.11.2": (
        "h1:+DyQP1xvAD34Cce/5efG1sJFwJZ3pxwoj17oEuKv/EI=", ("config/crd/bases",),
    ),
    "github.com/projectcapsule/capsule@v0.14.0": (
        "h1:rlJ1eBFMvL2KX+dYWVmektLmMdYNWZScW1McodNRPgU=", ("charts/capsule/crds",),
    ),
    "github.com/k8snetworkplumbingwg/sriov-network-operator@v1.6.0": (
        "h1:rzxyQm7Blreak47QCxvUEscTWgFzp+rBPcKXy5RewgE=", ("config/crd/bases",),
    ),
}  # fmt: skip
"""Module -> the checksum of its content, and the folders of its definitions."""


def own(plural: str, group: str, kind: str, version: str, *, namespaced: bool = True) -> Definition:
    """The smallest definition of a kind, which takes every field and has a status."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {
                "kind": kind, "listKind": f"{kind}List", "plural": plural,
                "singular": kind.lower(),
            },
            "versions": [{
                "name": version, "served": True, "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": True,
                }},
            }],
        },
    }  # fmt: skip


ATTACHMENTS: Final = own(
    "network-attachment-definitions", "k8s.cni.cncf.io", "NetworkAttachmentDefinition", "v1"
)
HYPERCONVERGEDS: Final = own("hyperconvergeds", "hco.kubevirt.io", "HyperConverged", "v1beta1")
IMPORTER: Final = tuple(
    own(plural, "cdi.kubevirt.io", kind, "v1beta1", namespaced=namespaced)
    for plural, kind, namespaced in (
        ("datavolumes", "DataVolume", True),
        ("datasources", "DataSource", True),
        ("cdis", "CDI", False),
        ("cdiconfigs", "CDIConfig", False),
        ("storageprofiles", "StorageProfile", False),
    )
)
"""Of the Containerized Data Importer, all that KubeVirt's controller watches."""


def official(definition: Definition) -> Definition | None:
    """The official file of the same kind; None where PASSWAY_CRDS does not give it.

    No converter runs on the bench, so it has the versions that ours has, and stores the first.
    """
    folder = os.environ.get("PASSWAY_CRDS")
    if not folder:
        return None
    plural, _, group = definition["metadata"]["name"].partition(".")
    found = yaml.safe_load((Path(folder) / group / f"{plural}.yaml").read_text())
    ours = {version["name"] for version in definition["spec"]["versions"]}
    kept = [version for version in found["spec"]["versions"] if version["name"] in ours]
    for index, version in enumerate(kept):
        version["storage"] = index == 0
    found["spec"]["versions"] = kept
    return found


def of_module(module: str) -> list[Definition]:
    """The definitions in a project's Go module, which Go fetches and verifies."""
    checksum, folders = MODULES[module]
    told = subprocess.run(
        [go(), "mod", "download", "-json", module],
        env={**os.environ, "GOFLAGS": "-mod=mod"}, timeout=600, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    found = json.loads(told.stdout)
    assert found["Sum"] == checksum, f"{module} has {found['Sum']}"
    texts = [
        path.read_text()
        for folder in folders
        for path in sorted((Path(found["Dir"]) / folder).glob("*.yaml"))
    ]
    documents = [document for text in texts for document in yaml.safe_load_all(text)]
    return [item for item in documents if item and item["kind"] == "CustomResourceDefinition"]


def install(plane: Plane, definitions: Iterable[Definition], limit_s: float = 60.0) -> None:
    """Creates them and waits until they are served."""
    waiting: dict[str, Definition] = {}
    for definition in definitions:
        # What upstream's installers add by a running converter does not run here.
        spec = {key: value for key, value in definition["spec"].items() if key != "conversion"}
        plane.request("POST", COLLECTION, {**definition, "spec": spec}, expected=(201, 409))
        waiting[definition["metadata"]["name"]] = definition
    end = time.monotonic() + limit_s
    while waiting:
        assert time.monotonic() < end, f"not served: {sorted(waiting)}"
        served = [name for name, definition in waiting.items() if _is_served(plane, definition)]
        for name in served:
            del waiting[name]
        time.sleep(0.05)


def remove(plane: Plane, definitions: Iterable[Definition], limit_s: float = 60.0) -> None:
    """Deletes them with their objects and waits until they are gone."""
    end = time.monotonic() + limit_s
    for definition in definitions:
        path = f"{COLLECTION}/{definition['metadata']['name']}"
        plane.request("DELETE", path, expected=(200, 404))
        while plane.request("GET", path, expected=(200, 404))["kind"] != "Status":
            assert time.monotonic() < end, f"{path} does not go"
            time.sleep(0.05)


def _is_served(plane: Plane, definition: Definition) -> bool:
    """Whether its objects can be listed; just after its creation the API server says 404 or 429."""
    spec = definition["spec"]
    version = next(version["name"] for version in spec["versions"] if version["served"])
    path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1"
    answer = plane.request("GET", path, expected=(200, 404, 429, 503))
    return isinstance(answer, dict) and answer["kind"] != "Status"
