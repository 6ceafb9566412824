"""Routes that show what KubeVirt would make of a VM: the launcher's libvirt devices
and the launcher pod.

A failure to render is an answer (200, with `error`), since nothing was asked to be created.
Whose namespaces count is the gate's to say, as for a preflight.
"""

from dataclasses import replace
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends
from starlette.responses import Response

from passway.api import examples
from passway.api.access import Tenant
from passway.api.answers import READING, WITH_BODY, answer, answers, schema_ref
from passway.api.bodies import FILE, ManifestText, json_body
from passway.api.openapi import body, manifest_body
from passway.api.parameters import DefaultNamespace
from passway.api.schemas import RenderXmlBody
from passway.model.errors import InvalidManifest
from passway.service import documents as d
from passway.service.reading import Reading

router = APIRouter()


@router.post(
    "/api/v1/render/xml",
    responses=answers(d.HostDevices, errors=(*READING, *WITH_BODY)),
    tags=["render"],
    openapi_extra=body(
        schema_ref("RenderXmlBody"), text=examples.RENDER_XML, object=examples.RENDER_XML_OBJECT
    ),
)
async def render_xml(
    backend: Tenant,
    wanted: Annotated[RenderXmlBody, Depends(json_body(RenderXmlBody))],
    namespace: DefaultNamespace = "default",
) -> Response:
    """The `<hostdev>` elements that the launcher would make of a VM, or why it would fail."""
    return answer(await _host_devices(backend, wanted, namespace))


@router.post(
    "/api/v1/render/pod",
    responses=answers(d.LauncherPod, errors=(*READING, *WITH_BODY)),
    tags=["render"],
    openapi_extra=manifest_body(examples.MANIFEST, examples.MANIFEST_TEXT),
)
async def render_pod(
    backend: Tenant, text: ManifestText, namespace: DefaultNamespace = "default"
) -> Response:
    """The launcher pod of one machine as the scheduler would see it, and its memory overhead."""
    return answer(await backend.render_pod(text, FILE, namespace=namespace))


async def _host_devices(backend: Reading, wanted: RenderXmlBody, namespace: str) -> d.HostDevices:
    if isinstance(wanted.manifest, str):
        return await backend.host_devices(wanted.manifest, FILE, namespace, wanted.environment())
    text = msgspec.json.encode(wanted.manifest)
    try:
        return await backend.host_devices(text, FILE, namespace, wanted.environment())
    except InvalidManifest as error:
        # The object has no lines: a place in the text that was made of it says nothing.
        issues = tuple(replace(issue, position=None) for issue in error.issues)
        raise InvalidManifest(str(error), issues=issues) from None
