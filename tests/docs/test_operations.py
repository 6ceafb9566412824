"""Alert rules, dashboard and the page of operations name metrics that exist, and all of them."""

import json
import re
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.api.conftest import sample

from passway.api.app import utc_now
from passway.api.metrics import Metrics
from passway.service.mirror import Mirror

ROOT = Path(__file__).parents[2]
FILES = ROOT / "charts" / "passway" / "files"
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
WORD = re.compile(r"\b(?:passway|process)_[a-z0-9_]+")


class Ended:
    """An audit that has rows."""

    class head:  # noqa: N801 - an attribute of what it is a stand-in for
        sequence, hash = 1, "ab"


async def exposed() -> dict[str, str]:
    """Name of a family or sample -> its help, where everything has happened once."""
    mirror = Mirror(sample(), now=utc_now)
    metrics = Metrics(mirror, Ended())
    metrics.certificate(lambda: 0.0)
    metrics.requests.labels("/healthz", "GET", "200").observe(0.1)
    metrics.problem("X")
    metrics.judged("no", [("ResourceNotFound", "error")])
    metrics.changed("permit", "done")
    async with mirror:
        await mirror.ready()
        metrics.look_for_drift()
        text = metrics.exposition().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        names = {family.name, *(one.name for one in family.samples)}
        found |= dict.fromkeys(names, family.documentation)
    return found


def rules() -> list[dict]:
    groups = yaml.safe_load((FILES / "alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def queries() -> list[str]:
    dashboard = json.loads((FILES / "dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


async def test_alerts_and_dashboard_ask_for_metrics_that_exist():
    known = await exposed()
    asked = {name for text in [*(rule["expr"] for rule in rules()), *queries()]
             for name in WORD.findall(text)}  # fmt: skip
    assert len(asked) > 10
    assert sorted(asked - set(known)) == []


def test_each_alert_says_what_it_means_and_how_grave_it_is():
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) > 7
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(rule["annotations"]) == {"summary", "description"}


async def test_the_page_lists_every_metric_with_its_words():
    known = await exposed()
    rows = dict(re.findall(r"^\| `(passway_[a-z_]+)` \| [^|]* \| (.+) \|$", PAGE, re.MULTILINE))
    ours = {
        name: text for name, text in known.items()
        if name.startswith("passway_") and not name.endswith(("_bucket", "_sum", "_created"))
    }  # fmt: skip
    shown = {name for name in ours if f"{name}_total" not in ours and f"{name}_count" not in ours}
    shown = {name.removesuffix("_count") for name in shown}
    assert rows == {name: ours[name] for name in shown}


def test_the_page_lists_every_alert():
    for rule in rules():
        assert f"`{rule['alert']}`" in PAGE


def test_queries_have_brackets_that_match():
    for text in [*(rule["expr"] for rule in rules()), *queries()]:
        for one, other in ("()", "{}", "[]"):
            assert text.count(one) == text.count(other), text
