"""An entry of the registry of reasons.

Apart from the registry, so that its parts can be written in modules of their own. What the fields
mean to a reader, and how templates are filled in, is told in `reasons`.
"""

from dataclasses import dataclass
from typing import Final

DOCS: Final = "reasons.md"


@dataclass(frozen=True, slots=True)
class Reason:
    """One entry: `extras` maps an optional param to the text that is added when it is present."""

    name: str
    title: str
    message: str
    remedy: str
    extras: tuple[tuple[str, str], ...] = ()

    @property
    def docs(self) -> str:
        """Anchor of the reason's heading in the documentation."""
        return f"{DOCS}#{self.name.lower()}"
