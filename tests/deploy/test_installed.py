"""The chart on a real API server: installed by Helm, and its account may do what is said of it."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from helm_python import Chart, Config
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane
from tools import chart

from passway.cluster.snapshot import Read
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.service.mirror import Mirror

pytestmark = [pytest.mark.plane, pytest.mark.slow]
VERBS = (
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
    "impersonate", "bind", "escalate",
)  # fmt: skip
SUBJECTS = {
    ("", "users"), ("", "groups"), ("", "serviceaccounts"), ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras/scopes"),
}  # fmt: skip
Rights = set[tuple[str, str, str]]


@pytest.fixture
def restricted(plane: Plane, kubevirt: KubeVirt, namespace: str) -> str:
    """A namespace that admits only pods of the level `restricted`."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    plane.request(
        "PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}},
        content="application/merge-patch+json",
    )  # fmt: skip
    return namespace


@pytest.fixture
def helm(plane: Plane, restricted: str) -> Iterator[Config]:
    with Config(kubeconfig_path=plane.admin(), namespace=restricted) as config:
        with Chart.load(chart.CHART) as found:
            config.install(found, "passway", {}, namespace=restricted)
        yield config
        config.uninstall("passway")


def resources(plane: Plane) -> set[tuple[str, str]]:
    """Everything that the API server serves, subresources too; and who can be impersonated."""
    groups = plane.request("GET", "/apis")["groups"]
    paths = ["/api/v1", *(f"/apis/{item['preferredVersion']['groupVersion']}" for item in groups)]
    found = set(SUBJECTS)
    for path in paths:
        listed = plane.request("GET", path)
        group, _, _ = listed["groupVersion"].rpartition("/")
        found |= {(item.get("group", group), item["name"]) for item in listed["resources"]}
    return found


def allowed(plane: Plane, namespace: str, account: str) -> Rights:
    """What the API server says that a ServiceAccount may do in the whole cluster."""
    groups = [
        "system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated",
    ]  # fmt: skip
    found: Rights = set()
    for group, name in sorted(resources(plane)):
        resource, _, part = name.partition("/")
        for verb in VERBS:
            attributes = {"group": group, "resource": resource, "subresource": part, "verb": verb}
            review = plane.request(
                "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                {"spec": {"user": f"system:serviceaccount:{namespace}:{account}", "groups": groups,
                          "resourceAttributes": attributes}},
            )  # fmt: skip
            if review["status"]["allowed"]:
                found.add((group, name, verb))
    return found


def served(rights: Rights, plane: Plane) -> Rights:
    """Those of them that are about something that the API server has."""
    return {
        (group, name, verb)
        for group, name in resources(plane)
        for verb in VERBS
        if (group, name, verb) in rights or (group, "*", verb) in rights
    }


def test_the_account_may_do_what_the_table_says_and_nothing_more(
    plane: Plane, helm: Config, restricted: str
) -> None:
    everybody = allowed(plane, restricted, "nobody-in-particular")
    found = allowed(plane, restricted, "passway")
    assert found == everybody | served(chart.rights(), plane)
    assert found > everybody
    for values in chart.OPTIONS.values():
        with Chart.load(chart.CHART) as made:
            helm.upgrade(made, "passway", values, namespace=restricted)
        found = allowed(plane, restricted, "passway")
        assert found == everybody | served(chart.rights(values), plane)


async def test_with_those_rights_everything_is_read(
    plane: Plane, helm: Config, restricted: str, caplog: pytest.LogCaptureFixture
) -> None:
    token = plane.request(
        "POST", f"/api/v1/namespaces/{restricted}/serviceaccounts/passway/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
    )["status"]["token"]  # fmt: skip
    config = load_config(plane.kubeconfig("installed", {"token": token}))
    with caplog.at_level(logging.WARNING):
        async with KubeCluster(config) as cluster, Mirror(cluster) as mirror:
            await mirror.ready(60)
            await asyncio.sleep(1)  # a watch that is not allowed would be refused by now
            reads = mirror.snapshot().reads
    assert Read.FORBIDDEN not in reads.values()
    assert [line for line in caplog.messages if "not allowed" in line] == []


def test_its_pods_are_admitted_where_only_restricted_ones_are(
    plane: Plane, helm: Config, restricted: str
) -> None:
    (deployment,) = (item for item in chart.objects() if item["kind"] == "Deployment")
    template: dict[str, Any] = deployment["spec"]["template"]
    pod = {"metadata": {"name": "try", **template["metadata"]}, "spec": template["spec"]}
    path = f"/api/v1/namespaces/{restricted}/pods?dryRun=All"
    plane.request("POST", path, pod, expected=(201,))
    del template["spec"]["securityContext"]["runAsNonRoot"]
    plane.request("POST", path, pod, expected=(403,))  # so it is looked at


def test_what_helm_installs_is_what_the_plain_manifests_say(
    plane: Plane, helm: Config, restricted: str
) -> None:
    wanted = chart.objects(namespace=restricted)
    installed = list(yaml.safe_load_all(helm.get_all("passway")["summary"]["manifest"]))
    assert sorted(map(str, installed)) == sorted(map(str, wanted))
    for item in wanted:
        group, _, version = item["apiVersion"].rpartition("/")
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        plural = {"NetworkPolicy": "networkpolicies"}.get(
            item["kind"], f"{item['kind'].lower()}s"
        )  # fmt: skip
        scope = f"/namespaces/{restricted}" if "namespace" in item["metadata"] else ""
        plane.request("GET", f"{root}{scope}/{plural}/{item['metadata']['name']}")
