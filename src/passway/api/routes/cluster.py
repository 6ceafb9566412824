"""Routes that read: the cluster for its admins, the own namespaces for users, reasons for all."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from passway.api.access import Admin, Anybody, Auditor, Onlooker, service_of
from passway.api.answers import READING, answer, answers
from passway.api.parameters import Cursor, Limit, Namespace, OptionalNamespace
from passway.service import documents as d
from passway.service import report
from passway.service.audit import Filter

router = APIRouter()
_NAMED = (*READING, 404)
_Name = Annotated[str, Path(max_length=400)]
_Value = Annotated[str | None, Query(max_length=400, description="Only rows with this value.")]


@router.get("/api/v1/reasons", responses=answers(d.ReasonList), tags=["reasons"])
async def reasons(_: Anybody) -> Response:
    """Every reason that a verdict can give, with its remedy."""
    return answer(report.reasons())


@router.get("/api/v1/nodes", responses=answers(d.NodeList), tags=["cluster"])
async def nodes(backend: Admin) -> Response:
    """The nodes with their devices."""
    return answer(await backend.nodes())


@router.get(
    "/api/v1/nodes/{name}/drain-impact",
    responses=answers(d.DrainImpact, errors=_NAMED),
    tags=["cluster"],
)
async def drain_impact(backend: Admin, name: _Name) -> Response:
    """The VMs that a drain of a node would stop."""
    return answer(await backend.drain_impact(name))


@router.get("/api/v1/drift", responses=answers(d.DriftReport), tags=["cluster"])
async def drift(backend: Admin) -> Response:
    """Where permitted, advertised and asked-for devices differ."""
    return answer(await backend.drift())


@router.get("/api/v1/vms", responses=answers(d.MachineList), tags=["vms"])
async def vms(backend: Admin, namespace: OptionalNamespace = None) -> Response:
    """The VMs of the cluster, or of a namespace."""
    return answer(await backend.machines(namespace))


@router.get(
    "/api/v1/vms/{namespace}/{name}",
    responses=answers(d.MachineDocument, errors=_NAMED),
    tags=["vms"],
)
async def vm(backend: Onlooker, namespace: _Name, name: _Name) -> Response:
    """One VM; where `Location` of a created one leads."""
    return answer(await backend.machine(namespace, name))


@router.get(
    "/api/v1/vms/{namespace}/{name}/explanation",
    responses=answers(d.ExplanationDocument, errors=_NAMED),
    tags=["vms"],
)
async def explain_vm(backend: Onlooker, namespace: _Name, name: _Name) -> Response:
    """Why a VM does not run: where it stands, the component's own words, our reason and remedy."""
    return answer(await backend.explain(namespace, name))


@router.get("/api/v1/my/devices", responses=answers(d.MyDevices), tags=["mine"])
async def my_devices(backend: Onlooker, namespace: Namespace) -> Response:
    """What a tenant may know of devices: whether one is free, and the own quota."""
    return answer(await backend.my_devices(namespace))


@router.get("/api/v1/my/vms", responses=answers(d.MachineList), tags=["mine"])
async def my_vms(backend: Onlooker, namespace: OptionalNamespace = None) -> Response:
    """The VMs of the own namespaces, or of one of them."""
    return answer(await backend.machines(namespace))


@router.get("/api/v1/audit", responses=answers(d.AuditList), tags=["audit"])
async def audit(
    _: Auditor,
    request: Request,
    limit: Limit = 100,
    before: Cursor = None,
    user: _Value = None,
    action: _Value = None,
    namespace: OptionalNamespace = None,
    name: _Value = None,
    result: _Value = None,
) -> Response:
    """Changes and refused changes, the latest first; only those with all the values given."""
    kept = service_of(request).audit
    wanted = Filter(user=user, action=action, namespace=namespace, name=name, result=result)
    found = await kept.page(wanted, limit + 1, before)
    items = found[:limit]
    more = items[-1].sequence if len(found) > limit else None
    return answer(d.AuditList(items=items, next=more, head=kept.head))
