"""Writes the page of KubeVirt's releases: `python -m tools.releases`."""

from pathlib import Path

from passway.kubevirt.gates import MODELLED, STATES
from passway.kubevirt.releases import RELEASES

PAGE = Path(__file__).parents[1] / "docs" / "kubevirt-releases.md"
FOLLOWED = ".".join(map(str, MODELLED))
HEAD = f"""# Which KubeVirt is followed

Passway follows KubeVirt {FOLLOWED}; its models were checked against the output of main of
2026-08-22 (d923fdb815cd). It reads `status.observedKubeVirtVersion` and applies the feature gates
of that release. A newer KubeVirt, or one whose version names no release (builds of main: `devel`,
a date), is judged as {FOLLOWED}, with a warning.

What follows was read in KubeVirt's sources and enhancements, not run. This page is written from
`passway.kubevirt.releases` and `passway.kubevirt.gates`, and a test compares them.

## Differences between releases

| Difference | Releases | What differs | Here |
|---|---|---|---|
"""
HERE = {
    "decided": "decided by the version",
    "no": "a no as well",
    "main": "not told apart: judged as by main",
}
GATES = """
## Feature gates

The state that a gate has from a release on. GA is on, Discontinued is off; Beta is on unless it is
listed under `disabledFeatureGates` (before 1.8: off unless listed); Alpha and Deprecated are off
unless listed.

| Gate | States |
|---|---|
"""


def text() -> str:
    rows = [
        f"| {row.name} | {row.releases} | {row.what} | {HERE[row.here]} |\n" for row in RELEASES
    ]
    gates = [
        f"| `{gate}` | {', '.join(map(_state, *zip(*states, strict=True)))} |\n"
        for gate, states in sorted(STATES.items())
    ]
    return "".join([HEAD, *rows, GATES, *gates])


def _state(since: tuple[int, int], state: str) -> str:
    return f"{state} ({since[0]}.{since[1]})" if since > (0, 0) else state


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
