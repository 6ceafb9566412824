"""The chart: what it renders, what it refuses, and that the plain manifests are the same."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from helm_python import Chart, HelmError
from helm_python.chart import lint
from tools import chart

from passway.cluster import kinds

RESTRICTED = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
              "capabilities": {"drop": ["ALL"]}}  # fmt: skip
READ = {"get", "list", "watch"}


def of_kind(found, kind):
    return [item for item in found if item["kind"] == kind]


def test_the_plain_manifests_are_the_chart():
    assert chart.PLAIN.read_text(encoding="utf-8") == chart.HEAD + chart.rendered()


def test_the_table_of_rights_is_the_charts():
    text = chart.README.read_text(encoding="utf-8")
    assert chart.with_table(text) == text
    assert chart.table() in text


def test_helm_finds_no_fault():
    found = lint(chart.CHART, strict=True)
    assert found["errors"] == []
    assert all("icon" in item["error"] for item in found["messages"])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"replica": 3}, "replica"),
        ({"replicas": 0}, "minimum"),
        ({"devices": {"managePermitted": "yes"}}, "managePermitted"),
        ({"tls": {"secretName": ""}}, "secretName"),
        ({"service": {"type": "Any"}}, "service"),
    ],
)
def test_values_that_make_no_sense_are_refused(values, said):
    with Chart.load(chart.CHART) as found, pytest.raises(HelmError, match=said):
        found.validate_schema(values)


def test_several_replicas_need_a_database():
    with pytest.raises(HelmError, match=r"set audit\.database\.secretName, or replicas=1"):
        chart.rendered({"audit": {"database": {"secretName": ""}}})


def test_one_replica_keeps_its_audit_on_a_claim():
    found = chart.objects({"replicas": 1, "audit": {"database": {"secretName": ""}}})
    (deployment,) = of_kind(found, "Deployment")
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "PASSWAY_AUDIT", "value": "/var/lib/passway/audit.db"}]
    (claim,) = of_kind(found, "PersistentVolumeClaim")
    assert claim["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert not of_kind(found, "PodDisruptionBudget")


def test_it_reads_exactly_what_verdicts_are_made_of():
    wanted = {(kind.group, kind.plural, verb) for kind in kinds.ALL for verb in READ}
    wanted |= {("", "events", "list"), ("authentication.k8s.io", "tokenreviews", "create"),
               ("authorization.k8s.io", "subjectaccessreviews", "create")}  # fmt: skip
    assert chart.rights() == wanted


@pytest.mark.parametrize(
    ("option", "added"),
    [
        ("devices.managePermitted", {("kubevirt.io", "kubevirts", "patch"),
                                     ("hco.kubevirt.io", "hyperconvergeds", "patch")}),
        ("vms.create", {("kubevirt.io", "virtualmachines", "create")}),
        ("impersonation.enabled", {
            ("", "users", "impersonate"), ("", "groups", "impersonate"),
            ("", "serviceaccounts", "impersonate"),
            ("authentication.k8s.io", "*", "impersonate")}),
    ],
)  # fmt: skip
def test_an_option_adds_exactly_its_rights(option, added):
    assert chart.rights(chart.OPTIONS[option]) - chart.rights() == added


def test_pods_are_restricted():
    (deployment,) = of_kind(chart.objects(), "Deployment")
    spec = deployment["spec"]["template"]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    (container,) = spec["containers"]
    assert container["securityContext"] == RESTRICTED
    assert deployment["spec"]["replicas"] == 2


def test_monitoring_is_optional_and_whole():
    assert not of_kind(chart.objects(), "ServiceMonitor")
    on = {"enabled": True, "labels": {"release": "prometheus"}}
    found = chart.objects({"metrics": {"serviceMonitor": on, "rules": on, "dashboard": on}})
    (monitor,) = of_kind(found, "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    (rules,) = of_kind(found, "PrometheusRule")
    alerts = yaml.safe_load((chart.CHART / "files" / "alerts.yaml").read_text())
    assert rules["spec"] == alerts
    (dashboard,) = of_kind(found, "ConfigMap")
    assert json.loads(dashboard["data"]["passway.json"])["title"]


@pytest.mark.parametrize("peers", ["from", "metricsFrom", "to"])
def test_a_network_policy_can_be_narrowed(peers):
    peer = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    (policy,) = of_kind(chart.objects({"networkPolicy": {peers: [peer]}}), "NetworkPolicy")
    rules = policy["spec"]["egress" if peers == "to" else "ingress"]
    assert [rule for rule in rules if peer in rule.get("from", rule.get("to", []))]
    (policy,) = of_kind(chart.objects(), "NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_nobody_is_called_like_another_release():
    with Chart.load(chart.CHART) as found:
        texts = found.render({}, name="other", namespace="elsewhere")
    text = "\n---\n".join(texts[name] for name in texts if name.endswith(".yaml"))
    for item in yaml.safe_load_all(text):
        name = item and item["metadata"]["name"]
        people = ("passway-viewer", "passway-user", "passway-admin")
        assert name is None or name.startswith("other-passway") or name in people


@pytest.mark.slow
def test_the_image_can_be_built(tmp_path: Path):
    """What the Containerfile runs, in an empty folder."""
    script = chart.ROOT / "deploy" / "build.sh"
    assert (
        f"RUN sh {script.relative_to(chart.ROOT)} /opt/passway"
        in (chart.ROOT / "Containerfile").read_text()
    )
    made = subprocess.run(
        ["sh", script, tmp_path / "passway"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("passway 0.")
    program = tmp_path / "passway" / "bin" / "passway"
    served = subprocess.run(
        [program, "serve", "--help"], capture_output=True, text=True, timeout=60, check=True
    )
    assert "Run the REST service" in served.stdout
    packages = {path.name for path in (tmp_path / "passway" / "lib").glob("*/site-packages/*")}
    assert not packages & {"pytest", "mypy", "hatchling"}
