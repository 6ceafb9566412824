"""Routes around one VM: create it, from the short form or a manifest; judge it; say how many fit.

A route turns the request into what a use case takes and its document into a response.
"""

import asyncio
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends
from starlette.responses import Response

from passway.api import examples
from passway.api.access import Admin, Creator, Tenant
from passway.api.answers import READING, WITH_BODY, answer, answers, schema_ref
from passway.api.bodies import FILE, ManifestText, json_body
from passway.api.openapi import body, manifest_body
from passway.api.parameters import DefaultNamespace, Flag, IdempotencyKey, Replicas
from passway.api.schemas import MachineBody, PreflightBody, WhatIfBody
from passway.plan.machine import plan_machine
from passway.service import documents as d
from passway.service.cluster_backend import ClusterBackend
from passway.service.manifests import machine_object

router = APIRouter()
_CREATE = answers(d.MachineCreated, errors=(*READING, *WITH_BODY, 404, 409, 422), created=True)
_JUDGE = (*READING, *WITH_BODY)
_MANIFEST = manifest_body(examples.MANIFEST, examples.MANIFEST_TEXT)


@router.post(
    "/api/vms",
    responses=_CREATE,
    tags=["vms"],
    openapi_extra=body(
        schema_ref("MachineBody"), gpu=examples.MACHINE, sriov=examples.SRIOV_MACHINE
    ),
)
async def create_vm(
    backend: Creator,
    wanted: Annotated[MachineBody, Depends(json_body(MachineBody))],
    dry_run: Flag = False,
    key: IdempotencyKey = None,
) -> Response:
    """Creates a VM if its preflight does not say no; a refused one leaves nothing behind."""
    return await _create(backend, plan_machine(wanted.request()), dry_run=dry_run, key=key)


@router.post("/api/v1/vms", responses=_CREATE, tags=["vms"], openapi_extra=_MANIFEST)
async def create_vm_from_manifest(
    backend: Creator,
    text: ManifestText,
    namespace: DefaultNamespace = "default",
    dry_run: Flag = False,
    key: IdempotencyKey = None,
) -> Response:
    """Creates the VirtualMachine of a manifest, like the short form."""
    machine = await asyncio.to_thread(machine_object, text, FILE, namespace)
    return await _create(backend, machine, dry_run=dry_run, key=key)


async def _create(
    backend: ClusterBackend, machine: dict[str, Any], *, dry_run: bool, key: str | None
) -> Response:
    made = await backend.create(machine, dry_run=dry_run, key=key)
    if dry_run or made.repeated:
        return answer(made)
    return answer(made, 201, {"Location": f"/api/v1/vms/{made.namespace}/{made.name}"})


@router.post(
    "/api/v1/devices/preflight",
    responses=answers(d.DevicePreflight, errors=_JUDGE),
    tags=["devices"],
    openapi_extra=body(schema_ref("PreflightBody"), devices=examples.PREFLIGHT),
)
async def preflight_devices(
    backend: Tenant, wanted: Annotated[PreflightBody, Depends(json_body(PreflightBody))]
) -> Response:
    """Would a VM with these devices get running? `ok` is false exactly when an error says so."""
    text = msgspec.json.encode(plan_machine(wanted.request()))
    (verdict,) = await backend.check(text, FILE, namespace=wanted.namespace)
    return answer(_devices(verdict))


def _devices(verdict: d.VerdictDocument) -> d.DevicePreflight:
    """The issues alone; places in the text are left out, since the asker wrote none."""
    issues = tuple(
        msgspec.structs.replace(issue, file=None, line=None, column=None)
        for issue in verdict.issues
    )
    return d.DevicePreflight(ok=verdict.fits != "no", issues=issues)


@router.post(
    "/api/v1/preflight",
    responses=answers(d.VerdictDocument, d.VerdictList, errors=_JUDGE),
    tags=["preflight"],
    openapi_extra=_MANIFEST,
)
async def preflight(
    backend: Tenant,
    text: ManifestText,
    namespace: DefaultNamespace = "default",
    replicas: Replicas = None,
    expand: Flag = False,
    server_dry_run: Flag = False,
) -> Response:
    """Judges each machine of a manifest and creates nothing: a Verdict, or a VerdictList.

    With `server_dry_run` the API server is asked too (`dryRun=All`), and stands in `server`.
    """
    found = await backend.check(
        text, FILE, namespace=namespace, replicas=replicas, expand=expand,
        server_dry_run=server_dry_run,
    )  # fmt: skip
    return answer(found[0] if len(found) == 1 else d.VerdictList(items=found))


@router.post(
    "/api/v1/fit",
    responses=answers(d.FitDocument, errors=_JUDGE),
    tags=["preflight"],
    openapi_extra=_MANIFEST,
)
async def fit(
    backend: Tenant, text: ManifestText, namespace: DefaultNamespace = "default"
) -> Response:
    """How many more of one machine fit, and what ends it."""
    return answer(await backend.fit(text, FILE, namespace=namespace))


@router.post(
    "/api/v1/what-if",
    responses=answers(d.WhatIfDocument, errors=(*_JUDGE, 404, 409)),
    tags=["preflight"],
    openapi_extra=body(
        schema_ref("WhatIfBody"), stop=examples.WHAT_IF, drain=examples.WHAT_IF_DRAIN
    ),
)
async def what_if(
    backend: Admin, wanted: Annotated[WhatIfBody, Depends(json_body(WhatIfBody))]
) -> Response:
    """The same question on a changed cluster, and every VM that a drain would move."""
    manifest = wanted.manifest
    text = msgspec.json.encode(manifest) if isinstance(manifest, dict) else manifest
    found = await backend.what_if(wanted.facts(), text, FILE, namespace=wanted.namespace)
    return answer(found)
