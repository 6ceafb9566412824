"""Tables as kubectl prints them: upper-case headings, three spaces between columns, no lines.

Owns the layout only. Cells are plain text; control characters are escaped here, whatever a caller
did, and an empty cell is `<none>`, so that awk and cut find the same columns in every row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from passway.cli.words import NONE, visible

GAP = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and how its cell is made of an item; `wide` shows only with -o wide."""

    heading: str
    cell: Callable[[Any], object]
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Columns over items."""

    columns: tuple[Column, ...]
    items: Sequence[Any]

    def rows(self, *, wide: bool = False) -> list[list[str]]:
        """The headings and the cells, safe to print."""
        shown = [column for column in self.columns if wide or not column.wide]
        rows = [[column.heading for column in shown]]
        rows.extend([_cell(column.cell(item)) for column in shown] for item in self.items)
        return rows

    def text(self, wide: bool = False, headers: bool = True) -> str:
        rows = self.rows(wide=wide)
        return columns_text(rows if headers else rows[1:])


def _cell(value: object) -> str:
    return NONE if value is None or value == "" else visible(str(value))


def columns_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows of equal length as aligned text."""
    safe = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) + GAP for column in zip(*safe, strict=True)]
    lines = (
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in safe
    )
    return "\n".join(lines)
