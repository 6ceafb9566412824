"""Writes the page of reasons: `python -m tools.reasons`."""

from pathlib import Path

from passway.model.reasons import REASONS, Reason

PAGE = Path(__file__).parents[1] / "docs" / "reasons.md"
HEAD = """# Reasons

Every finding of Passway carries one of these reasons. Its name never changes its meaning and is
never reused, so scripts may rely on it; the words may get better. `{name}` stands for what the
finding fills in. `passway check -o json` gives the reason, the words and the place in the manifest.

This page is written from the registry (`passway.model.reasons`), and a test compares the two.
"""


def entry(reason: Reason) -> str:
    lines = [f"## {reason.name}", "", f"{reason.title}.", "", f"- says: `{reason.message}`"]
    lines += [f"- may add: `{text.strip(' ;,')}`" for _, text in reason.extras]
    lines.append(f"- do: {reason.remedy}")
    return "\n".join(lines)


def text() -> str:
    return "\n".join([HEAD, *(f"{entry(reason)}\n" for reason in REASONS.values())])


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
