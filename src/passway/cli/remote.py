"""A Passway service as a Backend: the same questions over REST, the same documents back.

Owns the routes and what their bodies look like. How a request travels and what an error stands for
is `http`'s. It holds no rule about devices.
"""

from collections.abc import Sequence
from typing import Any, assert_never
from urllib.parse import quote

import msgspec

from passway.cli import failures
from passway.cli.http import YAML, Service
from passway.kubevirt.permitted import Permit
from passway.plan.what_if import AddNode, Allow, Drain, Fact, Stop
from passway.service import documents as d


class _Kinded(msgspec.Struct):
    kind: str = ""


class RemoteBackend:
    """Asks the service at `url`; `timeout_s` None waits for ever."""

    def __init__(self, url: str, token: str | None, timeout_s: float | None) -> None:
        self._service = Service(url, token, timeout_s)

    # -- questions ----------------------------------------------------------------------------

    async def inventory(self) -> d.DeviceInventory:
        return await self._service.get("/api/v1/devices", d.DeviceInventory)

    async def nodes(self) -> d.NodeList:
        return await self._service.get("/api/v1/nodes", d.NodeList)

    async def machines(self, namespace: str | None = None) -> d.MachineList:
        return await self._service.get("/api/v1/vms", d.MachineList, namespace=namespace)

    async def permits(self) -> d.PermitList:
        return await self._service.get("/api/v1/devices/permitted", d.PermitList)

    async def drift(self) -> d.DriftReport:
        return await self._service.get("/api/v1/drift", d.DriftReport)

    async def drain_impact(self, node: str) -> d.DrainImpact:
        return await self._service.get(
            f"/api/v1/nodes/{quote(node, safe='')}/drain-impact", d.DrainImpact
        )

    async def audit(self, name: str | None = None) -> d.AuditList:
        return await self._service.get("/api/v1/audit", d.AuditList, name=name)

    async def explain(self, namespace: str, name: str) -> d.ExplanationDocument:
        place = f"{quote(namespace, safe='')}/{quote(name, safe='')}"
        return await self._service.get(f"/api/v1/vms/{place}/explanation", d.ExplanationDocument)

    async def what_if(
        self,
        facts: Sequence[Fact],
        text: str | bytes | None = None,
        file: str = "",
        *,
        namespace: str = "default",
    ) -> d.WhatIfDocument:
        body: dict[str, Any] = {
            "namespace": namespace,
            "changes": [_change(item) for item in facts],
        }
        if text is not None:
            body["manifest"] = text if isinstance(text, str) else text.decode("utf-8", "replace")
        try:
            found = await self._service.post("/api/v1/what-if", body, d.WhatIfDocument)
        except failures.Told as told:
            told.documents = _issues_at_home(told.documents, file)
            raise
        asked = tuple(
            msgspec.structs.replace(
                item,
                before=_at_home(item.before, file),
                after=_at_home(item.after, file),
                resolved=_issues_at_home(item.resolved, file),
                added=_issues_at_home(item.added, file),
            )
            for item in found.asked
        )
        return msgspec.structs.replace(found, asked=asked)

    async def check(
        self,
        text: str | bytes,
        file: str,
        *,
        namespace: str = "default",
        replicas: int | None = None,
        expand: bool = False,
        server_dry_run: bool = False,
    ) -> tuple[d.VerdictDocument, ...]:
        body = await self._manifest(
            "/api/v1/preflight", text, file, namespace=namespace, replicas=replicas,
            expand=expand, server_dry_run=server_dry_run or None,
        )  # fmt: skip
        if self._service.decoded(body, _Kinded).kind == "VerdictList":
            items = self._service.decoded(body, d.VerdictList).items
        else:
            items = (self._service.decoded(body, d.VerdictDocument),)
        return tuple(_at_home(item, file) for item in items)

    async def fit(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.FitDocument:
        body = await self._manifest("/api/v1/fit", text, file, namespace=namespace)
        found = self._service.decoded(body, d.FitDocument)
        return msgspec.structs.replace(found, verdict=_at_home(found.verdict, file))

    async def render_pod(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.LauncherPod:
        body = await self._manifest("/api/v1/render/pod", text, file, namespace=namespace)
        return self._service.decoded(body, d.LauncherPod)

    # -- changes ------------------------------------------------------------------------------

    async def permit(
        self, permit: Permit, *, dry_run: bool = False, confirm: bool = False
    ) -> d.PermitChange:
        body = {
            "kind": permit.kind,
            "resource_name": permit.resource_name,
            "external_resource_provider": permit.external,
            "confirm": confirm,
            "dry_run": dry_run,
            **_selector(permit),
        }
        return await self._service.post("/api/v1/devices/permitted", body, d.PermitChange)

    async def unpermit(
        self,
        resource_name: str,
        *,
        selector: str | None = None,
        dry_run: bool = False,
        confirm: bool = False,
        force: bool = False,
    ) -> d.PermitChange:
        return await self._service.delete(
            "/api/v1/devices/permitted",
            d.PermitChange,
            resource_name=resource_name,
            selector=selector,
            dry_run=dry_run,
            confirm=confirm,
            force=force,
        )

    async def create(self, machine: dict[str, Any], *, dry_run: bool = False) -> d.MachineCreated:
        return await self._service.post("/api/v1/vms", machine, d.MachineCreated, dry_run=dry_run)

    async def _manifest(self, path: str, text: str | bytes, file: str, **query: Any) -> bytes:
        data = text.encode() if isinstance(text, str) else text
        try:
            return await self._service.ask("POST", path, query, data, YAML)
        except failures.Told as told:
            told.documents = _issues_at_home(told.documents, file)
            raise


def _change(fact: Fact) -> dict[str, Any]:
    match fact:
        case Drain(node):
            return {"drain": node}
        case Stop((namespace, name)):
            return {"stop": name, "namespace": namespace}
        case Allow(permit):
            entry = {"kind": permit.kind, "resource_name": permit.resource_name}
            return {"permit": {**entry, **_selector(permit)}}
        case AddNode(node):
            made = {"apiVersion": "v1", "kind": "Node", **msgspec.to_builtins(node)}
            return {"add_node": made}
        case _:
            assert_never(fact)


def _selector(permit: Permit) -> dict[str, str]:
    match permit.kind:
        case "pci":
            return {"pci_vendor_selector": permit.selector}
        case "mediated":
            return {"mdev_name_selector": permit.selector}
        case "usb":
            vendor, _, product = permit.selector.partition(":")
            return {"vendor": vendor, "product": product}


# -- places ---------------------------------------------------------------------------------------


def _at_home(verdict: d.VerdictDocument, file: str) -> d.VerdictDocument:
    return msgspec.structs.replace(verdict, issues=_issues_at_home(verdict.issues, file))


def _issues_at_home(issues: tuple[d.IssueDocument, ...], file: str) -> tuple[d.IssueDocument, ...]:
    """The service knows no file names; the only text that it saw is this file's."""
    return tuple(
        issue if issue.file is None else msgspec.structs.replace(issue, file=file)
        for issue in issues
    )
