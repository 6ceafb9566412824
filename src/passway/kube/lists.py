"""A list in protobuf, as a whole: read item by item as it arrives, and never held.

Owns that one request. In pages of five hundred the server needs twice as long for the same list.
Whoever asks gets `OtherForm` where the server answers in another form, and lists in pages then.
"""

from collections.abc import AsyncGenerator

from passway.cluster.kinds import Kind
from passway.kube.formats import REFUSED, OtherForm, Reader, accepts
from passway.kube.frames import PROTOBUF, Items, Malformed
from passway.kube.objects import path_of
from passway.kube.served import absence
from passway.kube.status import refusal
from passway.kube.transport import Transport, bounded
from passway.kube.wire import unreadable
from passway.service.ports import Page


async def whole(
    transport: Transport, kind: Kind, namespace: str | None
) -> AsyncGenerator[Page, None]:
    """The list, part by part; raises OtherForm before the first."""
    what = f"the list of {kind.resource}"
    path, accept = path_of(kind, namespace), accepts(kind, listed=True)
    async with transport.chunks(path, {}, accept) as response:
        if response.status in REFUSED:
            raise OtherForm
        if response.status == 404:
            raise await absence(transport.answer, kind)
        if response.status != 200:
            body = await bounded(response)
            raise refusal(response.status, body, "list", kind, None, namespace)
        if response.content_type != PROTOBUF:
            raise OtherForm
        items, read = Items(), Reader(kind)
        try:
            async for chunk in response.content.iter_any():
                found = items.feed(chunk)
                if found:
                    yield Page([read(item, what) for item in found], items.head.resource_version)
            items.end()
        except Malformed as error:
            raise unreadable(what, error) from None
        if not items.head.resource_version:
            raise unreadable(what, ValueError("it has no resourceVersion"))
        yield Page((), items.head.resource_version)
