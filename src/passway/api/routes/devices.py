"""Routes for cluster admins: the inventory and the permitted list.

A change is validated, planned, guarded and audited by the use case; a conflict is an answer.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from passway.api import examples
from passway.api.access import Admin, PermitReader, Permitter, Unpermitter
from passway.api.answers import READING, WITH_BODY, answer, answers, schema_ref
from passway.api.bodies import json_body
from passway.api.openapi import body
from passway.api.parameters import Flag
from passway.api.schemas import MediatedPermit, PciPermit, PermitBody, UsbPermit
from passway.service import documents as d

router = APIRouter(tags=["devices"])
_CHANGE = (*READING, 404, 409)
_PERMITTED = "/api/v1/devices/permitted"


@router.get("/api/v1/devices", responses=answers(d.DeviceInventory))
async def inventory(backend: Admin) -> Response:
    """Everything about devices: nodes, resources, permits, gates, pools."""
    return answer(await backend.inventory())


@router.get(_PERMITTED, responses=answers(d.PermitList))
async def permitted(backend: PermitReader) -> Response:
    """The permitted list, and which object keeps it."""
    return answer(await backend.permits())


@router.post(
    _PERMITTED,
    responses=answers(d.PermitChange, errors=(*_CHANGE, *WITH_BODY)),
    openapi_extra=body(
        schema_ref("PermitBody"), pci=examples.PCI, mediated=examples.MEDIATED, usb=examples.USB
    ),
)
async def permit(
    backend: Permitter,
    wanted: Annotated[PciPermit | MediatedPermit | UsbPermit, Depends(json_body(PermitBody))],
) -> Response:
    """Adds an entry; the same entry again changes nothing (`changed` is false)."""
    return answer(
        await backend.permit(wanted.permit(), dry_run=wanted.dry_run, confirm=wanted.confirm)
    )


@router.delete(_PERMITTED, responses=answers(d.PermitChange, errors=_CHANGE))
async def unpermit(
    backend: Unpermitter,
    resource_name: Annotated[str, Query(min_length=1, max_length=400)],
    selector: Annotated[
        str | None, Query(max_length=400, description="Only the entry with this selector.")
    ] = None,
    confirm: Flag = False,
    force: Flag = False,
    dry_run: Flag = False,
) -> Response:
    """Removes the entries of a name; where there are none, nothing changes."""
    return answer(
        await backend.unpermit(
            resource_name, selector=selector, dry_run=dry_run, confirm=confirm, force=force
        )
    )
