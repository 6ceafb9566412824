"""The mirror keeps up with 500 changes of pods a second, on one core."""

import pytest
from benchmarks.watch import recorded

BEHIND_S = 2.0


@pytest.mark.slow
@pytest.mark.parametrize("as_json", [False, True], ids=["protobuf", "json"])
def test_it_is_not_far_behind_500_changes_a_second(as_json):
    found = recorded(500, 8, 200, 6_000, as_json=as_json)
    assert found["seen"] == found["made"] > 3_000
    assert found["p99_s"] <= BEHIND_S, found
