"""A bounded store of answers, each good for a while: the oldest goes when it is full."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Expiring(Generic[K, V]):
    """At most `size` answers; `clock` gives seconds that never go back."""

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = size
        self._clock = clock
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """The answer while it is good."""
        found = self._kept.get(key)
        if found is None:
            return None
        until, value = found
        if self._clock() >= until:
            del self._kept[key]
            return None
        return value

    def put(self, key: K, value: V, good_s: float) -> None:
        """Keeps the answer for so many seconds from now."""
        self._kept.pop(key, None)
        self._kept[key] = (self._clock() + good_s, value)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
