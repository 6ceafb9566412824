"""Settings that every test shares."""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings

# Two busy cores make any deadline a coin toss; hangs are caught by the run's own time limit.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("soak", settings.get_profile("default"), max_examples=3000)
# Whether a test fails is all that a mutant asks; the smallest example does not matter.
settings.register_profile(
    "mutants", settings.get_profile("default"), phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("soak" if os.environ.get("PASSWAY_SOAK") else "default")

pytest_plugins = ["tests.controlplane.fixtures", "tests.store.fixtures"]


@pytest.fixture(autouse=True)
def _nothing_of_yours(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No test may meet the cluster of whoever runs it, or leave an audit there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    monkeypatch.delenv("PASSWAY_AUDIT", raising=False)
    monkeypatch.setenv("KUBECONFIG", "/nonexistent/kubeconfig")
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a real server are run by one worker."""
    for item in items:
        for shared in ("plane", "postgres"):
            if item.get_closest_marker(shared):
                item.add_marker(pytest.mark.xdist_group(shared))
                break
