"""How long to wait before trying again: longer after each failure, and never the same for all.

Owns the growing pause of everything that goes on for ever (watches, the mirror). A pause is chosen
by chance between half of the step and the whole of it, so that many clients of a server that comes
back do not come back together. The step starts anew once things went well for a while; a success
alone does not count, since a server that answers and then hangs up at once would be hammered.
"""

import random
import time
from collections.abc import Callable
from typing import Final

FIRST_S: Final = 0.5
LONGEST_S: Final = 3.0
"""Whoever comes back is heard again within five seconds, however often it was away."""
HEALTHY_S: Final = 10.0


class Backoff:
    """Ask `next_s()` whenever an attempt has ended. `chance` gives numbers from 0 to 1."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._chance = chance
        self._step_s = FIRST_S
        self._began = clock()

    def next_s(self) -> float:
        """Seconds to wait before the next attempt."""
        now = self._clock()
        if now - self._began >= HEALTHY_S:
            self._step_s = FIRST_S
        wait_s = self._step_s * (0.5 + 0.5 * self._chance())
        self._step_s = min(2 * self._step_s, LONGEST_S)
        self._began = now + wait_s
        return wait_s
