"""Public bug reports: the answer names the cause, with its numbers, and no wrong one.

The inputs lie beside this file, a folder a case; README.md says how they are read. Everything that
is specific to a case stands in the tables here; the product knows none of them.
"""

import importlib
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from passway.cli.options import Source
from passway.cli.sources import open_backend, read_manifest
from passway.cluster import kinds
from passway.host.tree import HostTree
from passway.manifest.vm import parse_manifest
from passway.model.reasons import REASONS, render
from passway.model.verdict import Fits, Severity, Some, Stage
from passway.preflight.walk import check
from passway.service.discovery import discovery_report

HERE = Path(__file__).parent
AT = "2026-06-12T09:30:00Z"
CLUSTERS = sorted(path.parent.name for path in HERE.glob("*/cluster.yaml"))
HOSTS = sorted(path.parent.name for path in HERE.glob("*/tree.json"))
UNREAD = frozenset({kinds.CRDS, kinds.MUTATING_WEBHOOKS})
NETWORKED = frozenset({"020-vf-pool-exhausted", "022-resource-injector-missing"})
"""The cases in which the mutating webhooks were read."""

REASON_OF = {
    "AllInUse": "ResourceExhausted",
    "DeviceNotPermitted": "DeviceNotPermitted",
    "DrainWillBlock": "DrainBlocked",
    "HostDevicesGateOff": "FeatureGateOff",
    "InjectorMissing": "InjectorMissing",
    "NoNodeHasAll": "NoNodeHasAll",
    "PermittedListMisplaced": "PermittedListMisplaced",
    "QuotaExceeded": "QuotaExceeded",
    "QuotaKeyWithoutEffect": "QuotaKeyWithoutEffect",
    "RequestHasManyDevices": "RequestHasManyDevices",
    "ResourceHasNoUnits": "ResourceHasNoUnits",
    "ResourceNotAdvertised": "ResourceNotAdvertised",
    "UntoleratedTaint": "UntoleratedTaint",
    "VfPoolExhausted": "VfPoolExhausted",
    "VolumeBoundElsewhere": "VolumeBoundElsewhere",
}
"""What this collection calls a cause -> the product's reason."""

NEIGHBOURS = {
    Stage.LAUNCHER: {Stage.CLAIMS},
    Stage.CLAIMS: {Stage.LAUNCHER},
    Stage.KUBELET: {Stage.HOST},
    Stage.HOST: {Stage.KUBELET},
    Stage.NETWORKS: {Stage.SCHEDULING},
    Stage.PERMISSION: {Stage.SCHEDULING},
    Stage.SCHEDULING: {Stage.NETWORKS, Stage.PERMISSION},
}

SEVERITIES = {"fail": Severity.ERROR, "warn": Severity.WARNING, "unknown": Severity.UNKNOWN}
VERDICTS = {"fits": Fits.YES, "refused": Fits.NO, "unknown": Fits.UNKNOWN}
NOT_JUDGED = {"026-one-request-two-devices": {(Stage.CLAIMS, "ClaimsNotJudged")}}
"""What is unknown still where a complete answer passes."""

A10 = "nvidia.com/GA102GL_A10"
PAGES = "hugepages-1Gi"
DELETED = "is being deleted since 2026-06-12T09:02:10Z and counts until then"
BCM = "broadcom.com/BCM57416_NETXTREMEE_DUALMEDIA_10G_RDMA_ETHERNET_CONTROLLER"

FACTS = {
    # The case counts as main does; 1.9.0, which this cluster runs, adds 20Mi less for QEMU: see
    # test_the_quota_as_main_counts_it.
    "001-quota-equals-guest-memory": [
        ("QuotaExceeded", {
            "requested": str(24 * 2**30 + 1348 * 2**20 + 60_000_000), "used": "0", "hard": "24Gi",
            "overhead": "1348Mi", "helpers": ["guest-console-log 60M"],
            "parts": ["launcher, libvirt and QEMU 220Mi", "vCPUs 64Mi", "I/O thread 8Mi",
                      "graphics 32Mi", "passthrough devices 1Gi"],
        }),
    ],
    "002-allocatable-is-not-free": [
        ("ResourceExhausted", {
            "wanted": "1", "free": ["0 free of 1 on t4-host"],
            "holders": ["default/desk-1 (1 on t4-host)"],
        }),
    ],
    "004-gpu-pool-tainted": [
        ("UntoleratedTaint", {
            "free": [["2 free of 2 on pool-gpu-1"]],
            "tolerations": ["nvidia.com/gpu=true:NoSchedule"],
            "taints": ["nvidia.com/gpu=present:NoSchedule"],
        }),
    ],
    "005-gpu-here-hugepages-there": [
        ("NoNodeHasAll", {
            "near_misses": [
                f"gpu-1 has {A10} (1 free of 2) but fails {PAGES} (20Gi free of 36Gi, 32Gi needed)",
                f"hp-1 has {PAGES} (64Gi free of 64Gi) but fails {A10} (0 free of 0, 1 needed)",
            ],
            "holders": ["pod telco/packet-core-0 (16Gi hugepages-1Gi on gpu-1)"],
        }),
    ],
    "008-pinned-to-a-node-without-the-device": [
        ("NoNodeHasAll", {
            "near_misses": [
                f"sm-1 has {BCM} (2 free of 2) but fails nodeSelector kubernetes.io/hostname=sm-2",
                f"sm-2 fails {BCM} (0 free of 0, 1 needed)",
            ],
            "holders": [],
        }),
    ],
    "011-livemigrate-with-a-host-device": [
        ("DrainBlocked", {
            "devices": ["intel.com/82571EB_82571GB_GIGABIT_ETHERNET_CONTROLLER_COPPER"],
            "origin": "",
        }),
    ],
    "015-hostdevices-gate-off": [
        ("FeatureGateOff", {"gate": "HostDevices", "field": "hostDevices", "mistaken": "GPU"}),
        ("DeviceNotPermitted", {"only": ["nvidia.com/GA100_A100_PCIE_80GB"]}),
    ],
    "016-terminating-launcher-holds-the-card": [
        ("ResourceExhausted", {
            "free": ["0 free of 1 on gpu-7", "0 free of 1 on gpu-8"],
            "holders": [
                f"design/cad-7 (1 on gpu-7, pod virt-launcher-cad-7-2xkjg {DELETED})",
                "design/cad-8 (1 on gpu-8)",
            ],
        }),
    ],
    "017-disk-in-the-other-zone": [
        ("VolumeBoundElsewhere", {
            "claim": "ds/notebook-root", "where": "topology.kubernetes.io/zone in [zone-a]",
            "there": ["topology.kubernetes.io/zone=zone-b"],
            "free": [["1 free of 1 on b-gpu-1"]],
        }),
    ],
    "019-resource-with-zero-units": [
        ("ResourceExhausted", {
            "free": ["0 free of 4 on node002"], "holders": ["default/train-all (4 on node002)"],
        }),
        ("ResourceHasNoUnits", {"resource": "nvidia.com/GA100_A100_SXM4_40GB"}),
    ],
    "020-vf-pool-exhausted": [
        ("VfPoolExhausted", {
            "wanted": "1", "free": ["0 free of 4 on net-1", "0 free of 0 on net-2"],
            "holders": [
                "pod telco/probe-7c6b5d9f4-x2lqn (2 on net-1)", "telco/edge-1 (1 on net-1)",
                "telco/edge-2 (1 on net-1)",
            ],
        }),
    ],
    "022-resource-injector-missing": [
        ("InjectorMissing", {"resource": ["intel.com/sriov_vfio"]}),
    ],
    "023-hyperconverged-owns-the-list": [
        ("DeviceNotPermitted", {
            "owner": "kubevirt-hyperconverged/kubevirt-hyperconverged",
            "list": "spec.virtualization.permittedHostDevices", "selector": "pciDeviceSelector",
        }),
    ],
    "024-misplaced-list-and-letter-case": [
        ("PermittedListMisplaced", {"found": "spec.permittedHostDevices"}),
        ("ResourceNotAdvertised", {
            "near": ["nvidia.com/TU104GL_TESLA_T4"], "near_free": ["1 free of 1 on node-b"],
        }),
    ],
    "026-one-request-two-devices": [
        ("RequestHasManyDevices", {"device": "gpu0", "request": "gpus", "count": "2"}),
    ],
    "027-external-provider-that-does-not-exist": [
        ("ResourceNotAdvertised", {"near": [], "permitted": "1", "external": "1"}),
    ],
    "028-quota-keys-without-effect": [
        ("QuotaKeyWithoutEffect", {"key": A10}),
        ("QuotaKeyWithoutEffect", {"key": f"limits.{A10}"}),
    ],
}  # fmt: skip
"""Case -> the facts that its answer tells, as reason and params."""

NONE_FREE = {
    "ResourceExhausted", "ResourceUnhealthy", "ResourceHasNoUnits", "ResourceNotAdvertised",
    "InsufficientResource", "VfPoolExhausted", "VfPoolNotAdvertised",
}  # fmt: skip
SOME_FREE = {"UntoleratedTaint", "NodeUnschedulable", "NoNodeHasAll", "VolumeBoundElsewhere"}
NOT_PERMITTED = {"DeviceNotPermitted"}
OVER_QUOTA = {"QuotaExceeded", "LimitRangeExceeded"}
SAID_BY = {
    "24Gi is enough": {"QuotaKeyWithoutEffect", "QuotaNotInForce", "QuotaUndecided"},
    "one T4 is available": SOME_FREE,
    "the plugin reports a wrong number": {"ResourceUnhealthy", "ResourceHasNoUnits"},
    "no GPU is free": NONE_FREE,
    "there are not enough GPUs": NONE_FREE,
    "there are 36Gi of free hugepages on gpu-1": SOME_FREE - {"NoNodeHasAll"},
    "not enough CPUs on the node": {"InsufficientResource"},
    "the device is in use": NONE_FREE,
    "not permitted": NOT_PERMITTED,
    "the VM cannot start": {
        *NONE_FREE, *SOME_FREE, *NOT_PERMITTED, *OVER_QUOTA, "FeatureGateOff",
    },
    "the selector does not match": {*NOT_PERMITTED, "MediatedSelectorNamesDirectory"},
    "the resource name is wrong": {*NOT_PERMITTED, "ResourceNotAdvertised"},
    "the cluster has no such device": {"ResourceNotAdvertised", "ResourceHasNoUnits"},
    "node003 has a free GPU": SOME_FREE,
    "the NetworkAttachmentDefinition is missing": {"AttachmentMissing", "MultusMissing"},
    "4 are free": SOME_FREE,
    "permittedHostDevices must be set first": {*NOT_PERMITTED, "PermittedListMisplaced"},
    "no virtual function is free": NONE_FREE,
    "the attachment has no resource name": {"AttachmentWithoutPool"},
    # The reasons whose remedy is a change of that object.
    "edit the KubeVirt object": {"FeatureGateOff", "PermittedListMisplaced"},
    "all T4s are in use": {"ResourceExhausted"},
    "the device is not permitted": NOT_PERMITTED,
    "no device matches": {*NONE_FREE, "ClaimRequestMissing"},
    "only one device is free": {*NONE_FREE, "NotEnoughPlaces"},
    "all units are in use": {"ResourceExhausted"},
    "exceeded quota": OVER_QUOTA,
    "the quota is used up": OVER_QUOTA,
}  # fmt: skip
"""A wrong explanation -> the reasons that would give it."""

DOCTOR = "passway.host.doctor"
ON_HOSTS = "The host doctor, the node agent, and a real kernel to test them on"
NO_DOCTOR = pytest.mark.xfail(strict=True, raises=ModuleNotFoundError, reason=ON_HOSTS)
MISSING = {
    # What of a node is free on which NUMA node is not read.
    "007-single-numa-node-policy": pytest.mark.xfail(
        strict=True, raises=AssertionError, reason=ON_HOSTS
    )
}


@dataclass(frozen=True)
class Case:
    """One folder."""

    name: str
    expected: dict = field(repr=False)

    @property
    def findings(self):
        """The expected ones, without the facts."""
        for item in self.expected["stages"]:
            literal = [text for text in item["must_say"] if isinstance(text, str)]
            yield Stage(item["stage"]), SEVERITIES[item["outcome"]], item["cause"], literal

    def file(self, name):
        return HERE / self.name / name


def load(name):
    return Case(name, yaml.safe_load((HERE / name / "expect.yaml").read_text()))


def snapshot(case, file):
    """As `--from file --at … --read …` makes it."""
    unread = UNREAD - {kinds.MUTATING_WEBHOOKS} if case.name in NETWORKED else UNREAD
    read = tuple(kind.plural for kind in kinds.ALL if kind not in unread)
    return open_backend(Source(paths=(str(file),), at=AT, read=read)).snapshot


def answer(case, cluster=None):
    """The verdict, on another cluster's file if one is given."""
    text, file = read_manifest(str(case.file("vm.yaml")))
    (spec,) = parse_manifest(text, file).require()
    return check(spec, snapshot(case, cluster or case.file("cluster.yaml")))


def told(value):
    """A param as text, or as a list of texts."""
    if isinstance(value, Some):
        value = value.items
    return [told(item) for item in value] if isinstance(value, tuple) else str(value)


def said(issue):
    """All that is shown of an issue."""
    words = render(issue)
    params = json.dumps([told(value) for value in issue.params.values()])
    return "\n".join([words.message, words.remedy, *issue.nodes, issue.path, params])


# -- the tables -----------------------------------------------------------------------------------


def test_the_collection_is_whole():
    assert (len(CLUSTERS), len(HOSTS)) == (20, 8)


def test_a_cause_and_its_reason_are_one_to_one():
    assert len(set(REASON_OF.values())) == len(REASON_OF)
    assert {*REASON_OF.values()} <= REASONS.keys()
    expected = {
        cause for name in CLUSTERS if name not in MISSING for _, _, cause, _ in load(name).findings
    }
    assert expected == REASON_OF.keys()


def test_every_fact_and_every_wrong_explanation_has_its_entry():
    for case in map(load, CLUSTERS):
        assert SAID_BY.keys() >= set(case.expected["must_not_say"]), case.name
        stated = {
            item["cause"]
            for item in case.expected["stages"]
            if any(isinstance(text, dict) for text in item["must_say"])
        }
        if case.name not in MISSING:
            listed = {reason for reason, _ in FACTS.get(case.name, ())}
            assert listed == {REASON_OF[cause] for cause in stated}, case.name
    assert set().union(*SAID_BY.values()) <= REASONS.keys()


# -- clusters -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=MISSING.get(name, ())) for name in CLUSTERS]
)
def test_a_cluster(name):
    case = load(name)
    verdict = answer(case)
    assert verdict.fits is VERDICTS[case.expected["verdict"]]
    _every_finding_is_there(case, verdict)
    _nothing_else_is_in_the_way(case, verdict)
    _the_facts_are_told(case, verdict)
    reasons = {issue.reason for issue in verdict.issues}
    for wrong in case.expected["must_not_say"]:
        assert not reasons & SAID_BY[wrong], wrong


def _every_finding_is_there(case, verdict):
    for stage, severity, cause, literal in case.findings:
        issues = [issue for issue in verdict.issues if issue.reason == REASON_OF[cause]]
        assert issues, cause
        assert {issue.severity for issue in issues} == {severity}
        assert {issue.stage for issue in issues} <= {stage, *NEIGHBOURS.get(stage, ())}
        text = "\n".join(map(said, issues))
        assert [name for name in literal if name not in text] == []


def _nothing_else_is_in_the_way(case, verdict):
    """Warnings beside the expected findings are welcome, errors are not."""
    expected = {(REASON_OF[cause], severity) for _, severity, cause, _ in case.findings}
    rest = [issue for issue in verdict.issues if (issue.reason, issue.severity) not in expected]
    assert [issue.reason for issue in rest if issue.severity is Severity.ERROR] == []
    open_questions = {
        (issue.stage, issue.reason) for issue in rest if issue.severity is Severity.UNKNOWN
    }
    assert open_questions == NOT_JUDGED.get(case.name, set())


def _the_facts_are_told(case, verdict):
    for reason, facts in FACTS.get(case.name, ()):
        found = [
            {name: told(issue.params[name]) for name in facts}
            for issue in verdict.issues
            if issue.reason == reason
        ]
        assert facts in found


def test_the_quota_as_main_counts_it(tmp_path):
    """The case's own numbers: main counts 50Mi for QEMU, where 1.9.0 counts 30Mi."""
    case = load("001-quota-equals-guest-memory")
    (fact,) = [text["fact"] for text in case.expected["stages"][0]["must_say"][2:]]
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        case.file("cluster.yaml").read_text().replace("ersion: v1.9.0", "ersion: v1.10.0")
    )
    verdict = answer(case, cluster)
    (found,) = [issue for issue in verdict.issues if issue.reason == "QuotaExceeded"]
    numbers = [found.params["requested"], found.params["overhead"], *found.params["helpers"]]
    assert list(map(str, numbers)) == ["27264255744", "1368Mi", "guest-console-log 60M"]
    assert "27264255744 bytes" in fact
    assert "1368Mi overhead" in fact
    assert "60M for the console log" in fact


# -- hosts ----------------------------------------------------------------------------------------


def tree(name):
    return HostTree.of(json.loads((HERE / name / "tree.json").read_text()))


@pytest.mark.parametrize("name", [pytest.param(name, marks=NO_DOCTOR) for name in HOSTS])
def test_a_host(name):
    importlib.import_module(DOCTOR)
    pytest.fail(f"the doctor is there, but is not asked about {name} yet")


@pytest.mark.parametrize("name", HOSTS)
def test_the_inputs_of_a_host_can_be_read(name):
    wanted = yaml.safe_load((HERE / name / "want.yaml").read_text())
    found = tree(name)
    for address in wanted.get("pass", ()):
        assert found.exists(f"sys/bus/pci/devices/{address}/vendor")
    assert load(name).expected["verdict"] in VERDICTS


def test_discovery_tells_a_selector_that_is_the_directory_of_a_type():
    """What can be said of this host without a doctor."""
    name = "009-mdev-selector-is-the-type-id"
    permit = HERE / name / "permit.yaml"
    report = discovery_report(tree(name), permit.read_bytes(), "permit.yaml")
    assert report.items == ()
    (issue,) = report.issues
    assert issue.reason == "MediatedSelectorNamesDirectory"
    (finding,) = load(name).expected["stages"]
    for text in filter(lambda text: isinstance(text, str), finding["must_say"]):
        assert text in issue.message
    right = permit.read_bytes().replace(b"nvidia-745", b"NVIDIA A2-2Q")
    fixed = discovery_report(tree(name), right, "permit.yaml")
    assert [item.resource_name for item in fixed.items] == ["nvidia.com/NVIDIA_A2-2Q"]
    assert fixed.issues == ()
