"""Writes the table of rights into docs/access.md: `python -m tools.rights`."""

from pathlib import Path
from typing import Final

from passway.api.app import route_rights
from passway.service.gate import GROUP, Right

PAGE: Final = Path(__file__).parents[1] / "docs" / "access.md"
BEGIN, END = "<!-- rights -->\n", "\nRights marked *in the namespace*"


def table() -> str:
    """A row for each route that takes rights."""
    rows = [
        f"| `{method} {path}` | {' and '.join(map(_words, rights))} |"
        for (method, path), rights in route_rights().items()
        if rights
    ]
    return "\n".join(["| Route | Rights |", "|---|---|", *rows]) + "\n"


def _words(right: Right) -> str:
    name = f"{right.verb} {right.resource}" if right.group == GROUP else str(right)
    return f"`{name}`{' in the namespace' if right.namespaced else ''}"


def page(text: str) -> str:
    """The page with the table as it is now."""
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}{end}{after}"


def main() -> None:
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
