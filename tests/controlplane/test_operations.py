"""What the service tells of itself while a real API server hangs, ends and comes back."""

import asyncio
import json
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from prometheus_client.parser import text_string_to_metric_families
from tests.builders import GPU, node, pci
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import NOBODY, Plane
from tests.faulty import until

from passway.api.app import create_app, utc_now
from passway.api.identity import DEMO, Tokens
from passway.api.routes import health
from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.main import cli
from passway.service.mirror import Mirror

pytestmark = [pytest.mark.plane, pytest.mark.slow]
ADMIN = {"Authorization": "Bearer demo-admin"}
READY_S = 60
PREFLIGHT = {"devices": [{"name": "g", "device_name": GPU}]}
MACHINE = {"name": "held", "namespace": "default", "image": "a", "cpus": 1, "memory": 1024}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """API server and etcd alone, to be ill-treated."""
    with Plane(Path(tmp_path_factory.mktemp("operated")), only_api=True) as plane:
        kubevirt = KubeVirt(plane)
        kubevirt.define()
        kubevirt.configure({"permittedHostDevices": {"pciHostDevices": [pci("10DE:2236", GPU)]}})
        plane.request("POST", "/api/v1/nodes", node("gpu-1", {GPU: 2}))
        yield plane


def ages(text: str) -> dict[str, float]:
    return {
        one.labels["kind"]: one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.name == "passway_cluster_state_age_seconds"
    }


async def test_while_the_api_server_is_away_it_stays_ready_and_says_how_old_it_is(
    own: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "STALE_S", 3)
    cluster = KubeCluster(load_config(own.admin()))
    mirror = Mirror(cluster, now=utc_now)
    app = create_app(cluster, Tokens(DEMO), mirror=mirror, request_s=2.0)
    server = own.component("kube-apiserver")
    transport = httpx.ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://p", headers=ADMIN) as client,
    ):
        await mirror.ready(READY_S)
        assert (await client.get("/readyz")).json()["status"] == "ready"
        server.signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(5)
            told = (await client.get("/readyz")).json()
            assert {item["kind"] for item in told["stale"]} >= {"nodes", "pods", "kubevirts"}
            known = ages(app.state.service.metrics.exposition().decode())
            assert known["nodes"] >= 3
            answer = await client.post("/api/v1/devices/preflight", json=PREFLIGHT)
            assert answer.status_code == 200
            assert (await client.get("/healthz")).status_code == 200
            made = await client.post("/api/vms", json=MACHINE)
            assert (made.status_code, made.json()["code"]) == (503, "TOO_LONG")
        finally:
            server.signal(signal.SIGCONT)
        server.stop()
        assert (await client.get("/readyz")).status_code == 200
        made = await client.post("/api/vms", json={**MACHINE, "name": "refused"})
        assert made.status_code == 503
        await asyncio.to_thread(own.start_apiserver)

        def fresh() -> bool:
            found = ages(app.state.service.metrics.exposition().decode())
            return found["nodes"] <= 2

        own.request("POST", "/api/v1/nodes", node("gpu-2", {GPU: 2}))
        await until(lambda: "gpu-2" in mirror.snapshot().nodes and fresh(), READY_S)


def opened(path: Path) -> dict[str, Any]:
    with tarfile.open(path) as tar:
        return {entry.name.split("/")[1]: json.load(tar.extractfile(entry)) for entry in tar}


@pytest.mark.parametrize("user", ["admin", NOBODY])
def test_a_report_is_made_with_any_rights_and_without_the_token(
    own: Plane, tmp_path: Path, user: str
) -> None:
    out = tmp_path / "report.tar.gz"
    config = own.kubeconfig(f"report-{user}", {"token": own.token(user)})
    result = CliRunner().invoke(cli, ["report", "-o", str(out), "--kubeconfig", config])
    assert result.exit_code == 0, result.output
    found = opened(out)
    reads = {item["kind"]: item["read"] for item in found["state.json"]["read"]}
    missing = found["contents.json"]["missing"]
    assert own.token(user) not in json.dumps(found)
    if user == NOBODY:
        assert reads["nodes"] == reads["pods"] == reads["virtualmachines"] == "forbidden"
        assert missing["events"].startswith("RBAC_DENIED")
    else:
        assert reads["nodes"] == "read"
        assert missing == {}
        assert "gpu-1" in json.dumps(found["nodes.json"])
