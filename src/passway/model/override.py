"""`override` for type checkers, at no cost at start-up (in the standard library from 3.12 on)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method):  # noqa: ANN001, ANN201 - type checkers never read this branch
        """Marks a method that replaces a parent's; only type checkers read it."""
        return method


__all__ = ["override"]
