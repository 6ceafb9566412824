"""What a pod counts for on its node, as kube-scheduler adds it up."""

import msgspec
import pytest

from passway.cluster.amounts import as_quantity, integers, is_device, parse, pod_requests, units
from passway.cluster.records import PodSpec, PodStatus
from passway.model.quantity import InvalidQuantity

MI = 2**20


def ask(requests=None, limits=None, **rest):
    return {"resources": {"requests": requests, "limits": limits}, **rest}


def cpu(amount):
    return ask({"cpu": amount})


def sidecar(amount):
    return ask({"cpu": amount}, restartPolicy="Always")


def counted(*containers, init=(), **spec):
    """The pod's amounts without itself."""
    spec = {"containers": containers, "initContainers": init, **spec}
    amounts = dict(pod_requests(msgspec.convert(spec, PodSpec)))
    assert amounts.pop("pods") == 1
    return amounts


@pytest.mark.parametrize(
    ("containers", "init", "thousandths"),
    [
        pytest.param([cpu("1"), cpu("250m")], [], 1250, id="summed"),
        pytest.param([cpu("0.5m"), cpu("0.5m")], [], 1, id="rounded once a pod"),
        pytest.param([cpu("1.1m")], [], 2, id="rounded up"),
        pytest.param([cpu(2)], [], 2000, id="a number"),
        pytest.param([cpu(0.5)], [], 500, id="a fraction"),
        pytest.param([cpu("1")], [cpu("3")], 3000, id="a larger init"),
        pytest.param([cpu("4")], [cpu("3")], 4000, id="a smaller init"),
        pytest.param([cpu("1")], [cpu("2"), cpu("3")], 3000, id="inits run one by one"),
        pytest.param([cpu("1")], [sidecar("2")], 3000, id="a sidecar stays"),
        pytest.param([], [sidecar("2"), sidecar("1")], 3000, id="sidecars alone"),
        pytest.param([cpu("1")], [sidecar("2"), cpu("5")], 7000, id="an init after a sidecar"),
        pytest.param([cpu("1")], [cpu("5"), sidecar("2")], 5000, id="an init before a sidecar"),
        pytest.param(
            [cpu("1")], [sidecar("1"), cpu("4"), sidecar("2"), cpu("4")], 7000, id="two sidecars"
        ),
    ],
)  # fmt: skip
def test_the_cpu_of_a_pod(containers, init, thousandths):
    assert counted(*containers, init=init) == {"cpu": thousandths}


def test_the_larger_of_both_is_taken_by_resource():
    init = ask({"cpu": "2", "memory": "1Mi"})
    amounts = counted(ask({"cpu": "1", "memory": "8Mi"}), init=[init])
    assert amounts == {"cpu": 2000, "memory": 8 * MI}


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({}, {}, id="no resources"),
        pytest.param({"resources": {}}, {}, id="empty resources"),
        pytest.param(ask({"cpu": "1"}, {"cpu": "2"}), {"cpu": 1000}, id="not the limit"),
        pytest.param(ask(None, {"a/b": "2"}), {"a/b": 2}, id="a limit without requests"),
        pytest.param(ask({}, {"a/b": "2"}), {"a/b": 2}, id="a limit beside empty requests"),
        pytest.param(
            ask({"cpu": "1", "memory": "1Mi"}, {"a/b": "2"}),
            {"cpu": 1000, "memory": MI, "a/b": 2}, id="one limit beside two other requests",
        ),
        pytest.param(
            ask({"cpu": "1"}, {"a/b": "2"}), {"cpu": 1000, "a/b": 2}, id="one limit beside another"
        ),
        pytest.param(ask({"a/b": "0", "cpu": 0}), {}, id="zero leaves no trace"),
        pytest.param(ask({"cpu": "-0.1m"}), {}, id="nor what rounds to zero"),
        pytest.param(ask({"memory": "1500m"}), {"memory": 2}, id="bytes are whole"),
        pytest.param(ask({"memory": 1.5}), {"memory": 2}, id="bytes of a float"),
        pytest.param(ask({"pods": "5"}), {}, id="a pod is one pod"),
        pytest.param(
            ask({"hugepages-1Gi": "2Gi", "ephemeral-storage": "1M"}),
            {"hugepages-1Gi": 2**31, "ephemeral-storage": 10**6}, id="hugepages and storage",
        ),
    ],
)  # fmt: skip
def test_the_amounts_of_one_container(container, expected):
    assert counted(container) == expected


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param({"requests": {"cpu": "4"}}, {"cpu": 4000, "a/b": 1}, id="more"),
        pytest.param({"requests": {"cpu": "500m"}}, {"cpu": 500, "a/b": 1}, id="less"),
        pytest.param(
            {"requests": {"memory": "1Mi"}}, {"cpu": 1000, "memory": MI, "a/b": 1}, id="other"
        ),
        pytest.param({"limits": {"cpu": "4"}}, {"cpu": 1000, "a/b": 1}, id="a limit is no request"),
        pytest.param(
            {"limits": {"memory": "1Mi"}}, {"cpu": 1000, "memory": MI, "a/b": 1},
            id="a limit on what no container asks for",
        ),
        pytest.param(
            {"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}, {"cpu": 2000, "a/b": 1}, id="both"
        ),
    ],
)  # fmt: skip
def test_resources_of_the_whole_pod_stand_in_for_the_sum(pod, expected):
    assert counted(ask({"cpu": "1", "a/b": "1"}), resources=pod) == expected


def test_overhead_comes_on_top_of_everything():
    overhead = {"cpu": "250m", "memory": "120Mi"}
    assert counted(cpu("1"), init=[cpu("3")], overhead=overhead) == {
        "cpu": 3250,
        "memory": 120 * MI,
    }
    pod = {"requests": {"cpu": "2"}}
    assert counted(cpu("1"), resources=pod, overhead=overhead)["cpu"] == 2250


def test_overhead_is_rounded_with_the_sum():
    assert counted(cpu("0.5m"), overhead={"cpu": "0.5m"}) == {"cpu": 1}


def test_an_empty_spec_is_one_pod():
    assert pod_requests(PodSpec()) == (("pods", 1),)


def test_equal_pods_share_one_sorted_vector():
    spec = msgspec.convert({"containers": [ask({"memory": "1Mi", "cpu": "7m"})]}, PodSpec)
    again = msgspec.convert({"containers": [ask({"memory": "1Mi", "cpu": "7m"})]}, PodSpec)
    assert pod_requests(spec) == (("cpu", 7), ("memory", MI), ("pods", 1))
    assert pod_requests(spec) is pod_requests(again)


def test_what_is_no_amount_is_named_with_its_resource():
    with pytest.raises(InvalidQuantity, match=r"^nvidia.com/gpu: 'one' is not a quantity"):
        counted(ask({"nvidia.com/gpu": "one"}))


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        (None, {}),
        ({}, {}),
        ({"cpu": "3920m", "memory": "1Ki", "pods": "9"}, {"cpu": 3920, "memory": 1024, "pods": 9}),
        ({"a/b": "1k", "hugepages-2Mi": 0}, {"a/b": 1000, "hugepages-2Mi": 0}),
        ({"cpu": "0.0001", "a/b": "0.5"}, {"cpu": 1, "a/b": 1}),
    ],
)  # fmt: skip
def test_a_list_of_amounts_becomes_integers(amounts, expected):
    assert integers(amounts) == expected


def test_parsed_amounts_are_exact_and_the_callers_own():
    assert parse({"cpu": "0.5m"}) == {"cpu": 500_000}
    parse({"cpu": "0.5m"})["cpu"] = 0
    assert parse({"cpu": "0.5m"}) == {"cpu": 500_000}
    assert parse(None) == {}


@pytest.mark.parametrize(
    ("resource", "nanos", "expected"),
    [("cpu", 10**9, 1000), ("cpu", 1, 1), ("memory", 10**9, 1), ("memory", 1, 1), ("a/b", 0, 0)],
)
def test_units_are_rounded_up(resource, nanos, expected):
    assert units(resource, nanos) == expected


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2**30, "1Gi"),
        ("ephemeral-storage", 2**20, "1Mi"),
        ("hugepages-2Mi", 2**31, "2Gi"),
        ("nvidia.com/gpu", 1024, "1024"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_are_shown_as_kubectl_shows_them(resource, amount, text):
    assert str(as_quantity(resource, amount)) == text


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        ("nvidia.com/gpu", True),
        ("kubevirt.io/storage", True),
        ("devices.kubevirt.io/kvm", False),
        ("cpu", False),
        ("hugepages-1Gi", False),
        ("attachable-volumes-csi-x", False),
        ("kubernetes.io/batch-cpu", False),
        ("scheduling.kubernetes.io/foo", False),
    ],
)
def test_a_device_is_an_extended_resource_of_others(resource, expected):
    assert is_device(resource) is expected


# -- resized in place -----------------------------------------------------------------------------


def resized(asks, *, has=None, allocated=None, reason=None, level=None, restart=None, init=False):
    """A pod with one container `c`, or one init container of that name, and what it was given."""
    part = {"name": "c", "resources": {"requests": asks}, "restartPolicy": restart}
    spec = {"initContainers": [part]} if init else {"containers": [part]}
    given = {"name": "c", "allocatedResources": allocated}
    if has is not None:
        given["resources"] = {"requests": has}
    status = {
        "initContainerStatuses" if init else "containerStatuses": [given, {"name": "other"}],
        "conditions": [{"type": "Ready"}, {"type": "PodResizePending", "reason": reason}]
        if reason
        else [{"type": "Ready"}],
        **({"resources": {"requests": level[1]}, "allocatedResources": level[2]} if level else {}),
    }
    spec |= {"resources": {"requests": level[0]}} if level else {}
    return dict(pod_requests(msgspec.convert(spec, PodSpec), msgspec.convert(status, PodStatus)))


@pytest.mark.parametrize(
    ("options", "thousandths"),
    [
        pytest.param({}, 1000, id="nothing is told"),
        pytest.param({"has": {"cpu": "1"}}, 1000, id="the same"),
        pytest.param({"has": {"cpu": "1"}, "allocated": {"cpu": "1"}}, 1000, id="the same twice"),
        pytest.param({"has": {"cpu": "3"}}, 3000, id="it has more"),
        pytest.param(
            {"has": {"cpu": "500m"}, "allocated": {"cpu": "2"}}, 2000, id="more allocated"
        ),
        pytest.param({"has": {"cpu": "500m"}}, 1000, id="it has less"),
        pytest.param({"has": {}, "allocated": {}}, 1000, id="empty"),
        pytest.param({"has": {"cpu": "500m"}, "reason": "Deferred"}, 1000, id="deferred"),
        pytest.param({"has": {"cpu": "500m"}, "reason": "Infeasible"}, 500, id="infeasible"),
        pytest.param({"has": {"cpu": "3"}, "init": True}, 1000, id="an init container"),
        pytest.param(
            {"has": {"cpu": "3"}, "init": True, "restart": "Always"}, 3000, id="a sidecar"
        ),
        pytest.param({"level": ({"cpu": "2"}, {"cpu": "4"}, {"cpu": "3"})}, 4000, id="the pod"),
        pytest.param({"level": ({"cpu": "2"}, {"cpu": "1"}, None)}, 2000, id="the pod has less"),
    ],
)
def test_what_a_resized_pod_counts_for(options, thousandths):
    assert resized({"cpu": "1"}, **options)["cpu"] == thousandths


def test_resources_that_only_one_side_names_count():
    found = resized({"cpu": "1"}, has={"memory": "1Mi"})
    assert found == {"cpu": 1000, "memory": MI, "pods": 1}
