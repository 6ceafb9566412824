"""The run of CI: random clusters on the real components, and what decides them."""

from collections.abc import Iterator

import pytest
from tests.agreement.bench import SHARES, Bench, Table
from tests.agreement.shrink import shrink
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane

pytestmark = [pytest.mark.plane, pytest.mark.slow]
SEEDS = 150


@pytest.fixture
def bench(plane: Plane, kubevirt: KubeVirt) -> Iterator[Bench]:
    with Bench(plane, kubevirt) as made:
        yield made


def test_passway_says_what_really_happens(bench):
    table, wrong, races = Table(), [], []
    for seed in range(SEEDS):
        result = bench.seed(seed)
        table.add(result)
        if result.again:
            races.append((seed, result.again))
        if result.faults:
            wrong.append(seed)
            small = shrink(bench, result) if len(wrong) == 1 else result
            print(f"seed {seed}: {small.faults}\n{small.scenario.text()}")
    print(*table.lines(), sep="\n")
    assert wrong == []
    assert races == []
    assert table.lacking() == []
    assert set(table.counts) <= {*SHARES, "launcher"}
