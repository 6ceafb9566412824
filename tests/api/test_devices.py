"""The inventory, the permitted list and its audit, over REST."""

import asyncio

import pytest

from passway.api import examples
from passway.cluster import kinds

PERMITTED = "/api/v1/devices/permitted"
CARD = {"kind": "pci", "resource_name": "vendor.com/card", "pci_vendor_selector": "10de:abcd"}


async def listed(admin):
    return {item["resource_name"]: item for item in (await admin.get(PERMITTED)).json()["items"]}


async def test_the_inventory_tells_everything_about_devices(admin):
    found = (await admin.get("/api/v1/devices")).json()
    resources = {item["resource_name"]: item for item in found["resources"]}
    assert resources[examples.A10]["free"] == 3
    assert found["multus_installed"] is True
    assert found["feature_gates"]["HostDevices"] is True
    assert found["kind_hints"]["intel.com/sriov_fast"] == "sriov"
    assert {pool["resource_name"] for pool in found["sriov_pools"]} == {
        "intel.com/sriov_fast", "intel.com/sriov_storage"
    }  # fmt: skip
    nodes = {node["name"]: node for node in found["nodes"]}
    assert nodes["worker-2"]["cpu_manager"] is True


@pytest.mark.parametrize(
    ("body", "kind", "selector"),
    [
        (CARD, "pci", "10DE:ABCD"),
        (examples.MEDIATED, "mediated", "NVIDIA A10-8Q"),
        ({**examples.USB, "vendor": "46D", "dry_run": False}, "usb", "046d:08e5"),
    ],
)
async def test_an_entry_is_added_once_in_its_normal_form(admin, body, kind, selector):
    first = await admin.post(PERMITTED, json=body)
    assert first.status_code == 200, first.text
    assert (first.json()["changed"], first.json()["applied"]) == (True, True)
    again = (await admin.post(PERMITTED, json=body)).json()
    assert (again["changed"], again["applied"], again["diff"]) == (False, False, "")
    item = (await listed(admin))[body["resource_name"]]
    assert (item["kind"], item["selector"]) == (kind, selector)


async def test_a_dry_run_shows_the_change_and_writes_nothing(admin):
    found = (await admin.post(PERMITTED, json={**CARD, "dry_run": True})).json()
    assert (found["changed"], found["applied"]) == (True, False)
    assert "pciVendorSelector: 10DE:ABCD" in found["diff"]
    assert "vendor.com/card" not in await listed(admin)


async def test_the_same_name_with_another_selector_is_a_conflict(admin):
    await admin.post(PERMITTED, json=CARD)
    answer = await admin.post(PERMITTED, json={**CARD, "pci_vendor_selector": "10DE:0000"})
    assert (answer.status_code, answer.json()["code"]) == (409, "ENTRY_DIFFERS")


async def test_an_entry_is_removed_once(admin):
    await admin.post(PERMITTED, json=CARD)
    path = f"{PERMITTED}?resource_name=vendor.com/card&selector=10DE:ABCD"
    assert (await admin.delete(path)).json()["changed"] is True
    assert (await admin.delete(path)).json()["changed"] is False


async def test_what_is_in_use_is_removed_only_by_force(admin):
    path = f"{PERMITTED}?resource_name={examples.A10}"
    answer = await admin.delete(path)
    assert (answer.status_code, answer.json()["code"]) == (409, "IN_USE")
    shown = (await admin.delete(f"{path}&dry_run=true")).json()
    assert {"kind": "VirtualMachine", "name": "train-1", "namespace": "ml"} in shown["in_use"]
    assert (await admin.delete(f"{path}&force=true")).json()["applied"] is True


async def test_the_first_entry_of_an_absent_list_waits_for_a_confirmation(admin, cluster):
    await cluster.patch(
        kinds.KUBEVIRTS, "kubevirt", "kubevirt",
        {"spec": {"configuration": {"permittedHostDevices": None}}},
    )  # fmt: skip
    await asyncio.sleep(0.01)
    answer = await admin.post(PERMITTED, json=CARD)
    assert (answer.status_code, answer.json()["code"]) == (409, "CONFIRMATION_REQUIRED")
    assert (await admin.post(PERMITTED, json={**CARD, "confirm": True})).json()["applied"] is True


async def test_a_change_that_another_one_overtook_is_a_conflict(admin, app, cluster, monkeypatch):
    mirror = app.state.service.mirror
    before = mirror.snapshot()
    await cluster.patch(
        kinds.KUBEVIRTS, "kubevirt", "kubevirt", {"metadata": {"labels": {"a": "b"}}}
    )
    monkeypatch.setattr(mirror, "snapshot", lambda: before)
    answer = await admin.post(PERMITTED, json=CARD)
    assert (answer.status_code, answer.json()["code"]) == (409, "CONCURRENT_CHANGE")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, None),
        ([], None),
        ({"kind": "gpu"}, None),
        ({"kind": "pci"}, "resource_name"),
        ({**CARD, "mdev_name_selector": "a"}, "mdev_name_selector"),
        ({**CARD, "pci": {"a": 1}}, "pci"),
        ({**CARD, "confirm": "yes"}, "confirm"),
        ({**CARD, "pci_vendor_selector": "10DE:*"}, None),
        ({**CARD, "resource_name": "card"}, None),
        ({**examples.USB, "vendor": "xyz"}, None),
    ],
)
async def test_a_malformed_entry_is_400(admin, body, path):
    answer = await admin.post(PERMITTED, json=body)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    if path:
        assert answer.json()["issues"][0]["path"] == path


async def test_an_unknown_kind_names_the_known_ones(admin):
    problem = (await admin.post(PERMITTED, json={"kind": "gpu"})).json()
    assert problem["detail"] == "'kind' must be one of 'pci', 'mediated', 'usb'"


async def test_removing_needs_a_name(admin):
    for query in ("", "?resource_name=", "?resource_name=a&confirm=1"):
        assert (await admin.delete(f"{PERMITTED}{query}")).status_code == 400


async def test_every_change_is_audited_newest_first(admin):
    await admin.post(PERMITTED, json=CARD)
    await admin.post(PERMITTED, json={**CARD, "dry_run": True})
    await admin.delete(f"{PERMITTED}?resource_name={examples.A10}")
    await admin.post("/api/vms", json=examples.MACHINE)
    entries = (await admin.get("/api/v1/audit")).json()["items"]
    assert [(row["action"], row["result"], row["intent"]) for row in entries] == [
        ("create", "done", 4), ("create", None, None), ("unpermit", "IN_USE", None),
        ("permit", "done", 1), ("permit", None, None),
    ]  # fmt: skip
    assert {(row["user"], row["source"], row["time"]) for row in entries} == {
        ("demo-admin", "127.0.0.1", "2026-06-12T09:30:00Z")
    }
    assert "vendor.com/card" in entries[4]["after"]


async def test_the_audit_is_read_page_by_page_and_filtered(admin):
    for _ in range(3):
        await admin.delete(f"{PERMITTED}?resource_name={examples.A10}")
    await admin.post(PERMITTED, json=CARD)
    seen, query = [], "?limit=2"
    while query is not None:
        page = (await admin.get(f"/api/v1/audit{query}")).json()
        seen += [row["sequence"] for row in page["items"]]
        query = f"?limit=2&before={page['next']}" if page["next"] else None
    assert seen == [5, 4, 3, 2, 1]
    assert page["head"]["sequence"] == 5
    for query, count in (
        ("result=IN_USE", 3), ("action=permit", 2), ("user=demo-admin", 5), ("user=x", 0),
        ("namespace=kubevirt", 5), ("name=kubevirt&action=permit&result=done", 1),
        ("name=%00", 0),
    ):  # fmt: skip
        found = (await admin.get(f"/api/v1/audit?{query}")).json()
        assert (len(found["items"]), found["next"]) == (count, None), query
    for query in ("limit=0", "limit=1001", "before=0", "before=x", "user=" + "u" * 401, "nope=1"):
        assert (await admin.get(f"/api/v1/audit?{query}")).status_code == 400, query


async def test_the_cluster_can_be_looked_at(admin):
    vms = (await admin.get("/api/v1/vms?namespace=ml")).json()["items"]
    assert {vm["namespace"] for vm in vms} == {"ml"}
    impact = (await admin.get("/api/v1/nodes/gpu-a10-1/drain-impact")).json()
    assert [item["name"] for item in impact["items"]] == ["train-1", "train-2"]
    assert (await admin.get("/api/v1/nodes/nowhere/drain-impact")).status_code == 404
    drift = (await admin.get("/api/v1/drift")).json()
    assert {"UnhealthyUnits", "DeviceGone"} <= {issue["reason"] for issue in drift["issues"]}
    assert (await admin.get("/api/v1/nodes")).json()["kind"] == "NodeList"
