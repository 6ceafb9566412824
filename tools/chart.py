"""Writes the plain manifests and the table of rights from the chart: `python -m tools.chart`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from helm_python import Chart

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "passway"
PLAIN = ROOT / "deploy" / "passway.yaml"
README = ROOT / "README.md"
BEGIN, END = "<!-- rights, by tools.chart -->\n", "<!-- end of rights -->"
HEAD = """\
# Passway with the chart's own values, in the namespace passway. Written by tools.chart; a test
# compares the two. It waits for the Secrets passway-tls (kubernetes.io/tls) and passway-audit
# (key url: a PostgreSQL database).
"""
OPTIONS = {
    "devices.managePermitted": {"devices": {"managePermitted": True}},
    "vms.create": {"vms": {"create": True}},
    "impersonation.enabled": {"impersonation": {"enabled": True}},
}


def rendered(values: dict[str, Any] | None = None, namespace: str = "passway") -> str:
    """All objects of the chart as YAML, in the order of their files."""
    with Chart.load(CHART) as chart:
        found = chart.render(values or {}, name="passway", namespace=namespace)
    texts = [found[name].strip() for name in sorted(found) if name.endswith(".yaml")]
    return "\n---\n".join(text.removeprefix("---\n") for text in texts if text) + "\n"


def objects(values: dict[str, Any] | None = None, namespace: str = "passway") -> list[Any]:
    return [item for item in yaml.safe_load_all(rendered(values, namespace)) if item]


def rights(values: dict[str, Any] | None = None) -> set[tuple[str, str, str]]:
    """(group, resource, verb) of the service's own role."""
    (role,) = (
        item for item in objects(values)
        if item["kind"] == "ClusterRole" and item["metadata"]["name"] == "passway-service"
    )  # fmt: skip
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def table() -> str:
    return "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    yield "| Needed for | API group | Resources | Verbs |"
    yield "|---|---|---|---|"
    always = rights()
    yield from _lines("always", always)
    for name, values in OPTIONS.items():
        yield from _lines(f"`{name}`", rights(values) - always)


def _lines(needed: str, found: set[tuple[str, str, str]]) -> Iterator[str]:
    verbs: dict[tuple[str, str], list[str]] = {}
    for group, resource, verb in sorted(found):
        verbs.setdefault((group, resource), []).append(verb)
    rows: dict[tuple[str, str], list[str]] = {}
    for (group, resource), allowed in verbs.items():
        rows.setdefault((group, ", ".join(allowed)), []).append(resource)
    for (group, allowed), resources in rows.items():
        yield f"| {needed} | {group or 'core'} | {', '.join(resources)} | {allowed} |"


def with_table(text: str) -> str:
    """The README with the table as the chart has it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PLAIN.write_text(HEAD + rendered(), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
