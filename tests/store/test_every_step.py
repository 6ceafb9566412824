"""Permits and creates that end at every await in turn; what ends how is in `steps`."""

import asyncio
import subprocess
import sys

import pytest
from tests.store import steps

from passway.store.database import database

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("end", ["one task", "all tasks"])
@pytest.mark.parametrize("case", steps.CASES)
def test_whenever_it_is_cancelled_the_audit_and_the_cluster_agree(case, end, tmp_path):
    def ended(at: int) -> bool:
        where = database(str(tmp_path / f"{at}.db"))
        return asyncio.run(steps.cancelled(case, where, at, end))

    assert next(at for at in range(1, steps.MOST) if ended(at)) > 4


@pytest.mark.parametrize("case", steps.CASES)
def test_whenever_the_process_dies_the_audit_and_the_cluster_agree(case, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.steps", case, tmp_path],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40
