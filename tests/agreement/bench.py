"""One seed after the other on a plane: build, ask Passway, create the VM, compare, clear.

Passway reads the cluster through its own client, like a user would, before the VM is created. A
seed that disagrees is run once more: what does not come back was a race of the components.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.agreement.compare import Said, decided, disagreements, is_combination
from tests.agreement.generate import generate
from tests.agreement.real import Outcome, Real
from tests.agreement.scenario import Scenario
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane

from passway.kube.client import KubeCluster
from passway.kube.config import load_config
from passway.manifest.vm import parse_manifest
from passway.model.errors import InvalidManifest
from passway.preflight.walk import check
from passway.service.mirror import Mirror

SHARES: Final = {
    "fits": 25, "admission": 8, "permission": 8, "quota": 8, "networks": 8, "scheduling": 8,
    "combination": 20,
}  # fmt: skip
"""At least so many of a hundred seeds are decided there; `combination` is part of `scheduling`."""


@dataclass(frozen=True)
class Result:
    """One seed."""

    scenario: Scenario
    outcome: Outcome
    verdict: Said
    faults: tuple[str, ...]
    again: tuple[str, ...] = ()
    """What was wrong the first time, where the second run was in order."""

    @property
    def stage(self) -> str:
        return decided(self.scenario, self.outcome, self.verdict)

    @property
    def is_combination(self) -> bool:
        return self.outcome.stage == "scheduling" and is_combination(self.verdict)


class Bench:
    """`with Bench(plane, kubevirt) as bench:`"""

    def __init__(self, plane: Plane, kubevirt: KubeVirt) -> None:
        self._real = Real(plane, kubevirt)
        self._runner = asyncio.Runner()
        self._cluster = KubeCluster(load_config(plane.admin()))

    def __enter__(self) -> "Bench":
        self._runner.run(self._cluster.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._cluster.__aexit__(None, None, None))
        self._runner.close()
        self._real.close()

    def seed(self, number: int) -> Result:
        """Runs a seed, twice where the first run disagrees."""
        first = self.run(generate(number))
        if not first.faults:
            return first
        second = self.run(generate(number))
        if second.faults:
            return second
        return Result(second.scenario, second.outcome, second.verdict, (), first.faults)

    def run(self, scenario: Scenario) -> Result:
        """One run; the plane is empty afterwards, whatever happens."""
        try:
            self._real.build(scenario)
            verdict = self._runner.run(self._ask(scenario))
            outcome = self._real.run(scenario)
        finally:
            self._real.clear()
        found = disagreements(scenario, outcome, verdict)
        return Result(scenario, outcome, verdict, tuple(found))

    async def _ask(self, scenario: Scenario) -> Said:
        mirror = Mirror(self._cluster)
        await mirror.read()
        try:
            machine = parse_manifest(json.dumps(scenario.vm), "vm.json").require()[0]
        except InvalidManifest as invalid:
            return invalid
        return check(machine, mirror.snapshot(), expand=True)


@dataclass
class Table:
    """How often each stage decided."""

    counts: Counter[str] = field(default_factory=Counter)
    seeds: int = 0

    def add(self, result: Result) -> None:
        self.seeds += 1
        self.counts[result.stage] += 1
        self.counts["combination"] += result.is_combination

    def share(self, stage: str) -> float:
        return 100 * self.counts[stage] / self.seeds

    def lacking(self) -> list[str]:
        """What is decided too seldom for the agreement to mean much."""
        return [stage for stage, least in SHARES.items() if self.share(stage) < least]

    def lines(self) -> Iterator[str]:
        yield "STAGE        SEEDS  SHARE  LEAST"
        for stage, least in SHARES.items():
            yield f"{stage:<11} {self.counts[stage]:>6} {self.share(stage):>5.1f}% {least:>5}%"
        others = sorted(set(self.counts) - set(SHARES))
        yield from (f"{stage:<11} {self.counts[stage]:>6}" for stage in others)
