"""What a real API server says of kinds that it does not serve, or not in the version asked for."""

import pytest

from passway.cluster.kinds import Kind
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.model.errors import NotFound
from passway.service.ports import OtherVersion

pytestmark = [pytest.mark.plane, pytest.mark.slow]

OLD = Kind("apps", "v1beta1", "Deployment", "deployments")


@pytest.fixture
async def cluster(plane):
    async with KubeCluster(load_config(plane.admin())) as cluster:
        yield cluster


async def test_a_kind_in_another_version_is_named(cluster):
    with pytest.raises(OtherVersion, match=r"deployments\.apps in version v1, and not in v1beta1"):
        await cluster.list(OLD)
    with pytest.raises(OtherVersion):
        [page async for page in cluster.pages(OLD)]


@pytest.mark.parametrize("group", ["nothing.example.dev", "apps"])
async def test_a_kind_that_is_not_there(cluster, group):
    with pytest.raises(NotFound) as absent:
        await cluster.list(Kind(group, "v1", "Nothing", "nothings"))
    assert absent.value.code == "KIND_NOT_SERVED"


def test_escaping_alone_would_not_keep_a_name_in_its_place(plane):
    """Why such names are refused: the server takes the path apart only after it is unescaped."""
    found = plane.request("GET", "/api/v1/namespaces/default%2Fstatus")
    assert (found["kind"], found["metadata"]["name"]) == ("Namespace", "default")
    assert plane.request("GET", "/api/v1/namespaces/")["kind"] == "NamespaceList"
