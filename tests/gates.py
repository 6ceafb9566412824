"""The gate of somebody who may ask everything, about a few namespaces only."""

from passway.model.errors import Forbidden


class Within:
    """Only these namespaces."""

    def __init__(self, namespaces):
        self._namespaces = frozenset(namespaces)

    async def see(self, *namespaces):
        for namespace in namespaces:
            await self.expect(None, namespace)
        return frozenset(namespaces)

    async def own(self):
        return self._namespaces

    async def expect(self, right, namespace=None):
        if namespace not in self._namespaces:
            raise Forbidden(f"not in {namespace}")
