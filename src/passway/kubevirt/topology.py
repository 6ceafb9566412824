"""How many sockets, cores and threads the vCPUs of an instance type become.

Owns a preference's wish for a topology and its options, and whether the vCPUs can be spread so.
Sources: kubevirt pkg/instancetype/preference/apply/cpu.go, .../validation/cpu.go and
pkg/instancetype/apply/cpu.go (v1.9.0). A ratio of zero divides by zero there; here nothing can be
spread by it.
"""

from collections.abc import Mapping
from typing import Final

from passway.kubevirt.fields import Tree, present, text, whole

SOCKETS: Final = "sockets"
SPREAD: Final = "spread"
ANY: Final = "any"
SOCKETS_CORES: Final = "SocketsCores"
THREADS_PER_CORE: Final = 2
_RATIO: Final = 2
_NAMES: Final = {
    "preferSockets": SOCKETS,
    "preferCores": "cores",
    "preferThreads": "threads",
    "preferSpread": SPREAD,
    "preferAny": ANY,
}
"""Deprecated name -> the one it has now."""
LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    SOCKETS_CORES: ("sockets", "cores"),
    "CoresThreads": ("cores", "threads"),
    "SocketsCoresThreads": ("sockets", "cores", "threads"),
}
"""What vCPUs are spread across -> the levels, the outermost first."""


def preferred(preference: Tree) -> str:
    """The topology that a preference wants; sockets where it wants none."""
    if not present(preference, "cpu", "preferredCPUTopology"):
        return SOCKETS
    wanted = text(preference, "cpu", "preferredCPUTopology")
    return _NAMES.get(wanted, wanted)


def spread_options(preference: Tree) -> tuple[int, str]:
    """(ratio, across)."""
    ratio = whole(preference, "preferSpreadSocketToCoreRatio") or _RATIO
    across = SOCKETS_CORES
    if present(preference, "cpu", "spreadOptions", "across"):
        across = text(preference, "cpu", "spreadOptions", "across")
    if present(preference, "cpu", "spreadOptions", "ratio"):
        ratio = whole(preference, "cpu", "spreadOptions", "ratio")
    return ratio, across


def spreadable(vcpus: int, preference: Tree) -> bool:
    """Whether the vCPUs divide as the preference wants them spread."""
    if preferred(preference) != SPREAD:
        return True
    ratio, across = spread_options(preference)
    if across not in LEVELS:
        return True
    each = ratio * (THREADS_PER_CORE if len(LEVELS[across]) > 2 else 1)
    return each > 0 and vcpus % each == 0


def topology(vcpus: int, preference: Tree) -> dict[str, int]:
    """Sockets, cores and threads; all one where the preference names no known topology."""
    made = {"cores": 1, "sockets": 1, "threads": 1}
    wanted = preferred(preference)
    if vcpus == 1:
        return made
    if wanted == ANY:
        wanted = SOCKETS
    if wanted in made:
        made[wanted] = vcpus
    elif wanted == SPREAD:
        made |= _spread(vcpus, *spread_options(preference))
    return made


def _spread(vcpus: int, ratio: int, across: str) -> dict[str, int]:
    if across not in LEVELS:
        return {}
    outer, inner, *rest = LEVELS[across]
    threads = THREADS_PER_CORE if rest else 1
    made = {outer: vcpus // threads // ratio, inner: ratio}
    return {**made, "threads": threads} if rest else made
