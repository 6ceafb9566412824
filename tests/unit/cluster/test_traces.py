"""Which objects belong to a VM, and in which order they come."""

import pytest
from tests.builders import obj, pod, vm, vmi

from passway.cluster.snapshot import Read
from passway.cluster.traces import events_of, traces
from passway.model.errors import InvalidInput

KEY = ("default", "one")


def event(name, kind="VirtualMachine", about="one", *, namespace="default", message="", **rest):
    return obj(
        "v1", "Event", name, namespace, involvedObject={"kind": kind, "name": about},
        message=message, **rest,
    )  # fmt: skip


def names(found):
    return [item.metadata.name for item in found]


def test_there_is_nothing_without_a_vm_and_a_vmi():
    assert traces([pod("p", machine="one"), event("e"), {"kind": "VirtualMachine"}], KEY) is None
    assert traces([vm("other"), vm("one", namespace="elsewhere")], KEY) is None


def test_the_vm_is_the_document_and_else_the_vmi():
    made = vm("one")
    assert traces([vmi("one"), made], KEY).document == made
    found = traces([vmi("one")], KEY, {"events": Read.FORBIDDEN})
    assert (found.document["kind"], found.machine) == ("VirtualMachineInstance", None)
    assert found.unread == {"events": Read.FORBIDDEN}
    assert traces([made], KEY).instance is None


def test_launchers_are_those_of_the_vmi_the_newest_first():
    found = traces(
        [
            vmi("one"),
            pod("old", machine="one", meta={"creationTimestamp": "2026-01-01T00:00:00Z"}),
            pod("new", machine="one", meta={"creationTimestamp": "2026-01-02T00:00:00Z"}),
            pod("other", machine="two"), pod("plain"),
            {**pod("odd"), "metadata": {"name": "odd", "ownerReferences": ["one"]}},
        ],
        KEY,
    )  # fmt: skip
    assert names(found.pods) == ["new", "old"]
    assert found.pod.metadata.name == "new"


def test_the_launcher_that_counts_is_one_that_is_not_finished():
    def launcher(name, phase, day):
        created = {"creationTimestamp": f"2026-01-0{day}T00:00:00Z"}
        return pod(name, machine="one", phase=phase, meta=created)

    found = traces([vmi("one"), launcher("a", "Failed", 2), launcher("b", "Running", 1)], KEY)
    assert found.pod.metadata.name == "b"
    assert traces([vmi("one"), launcher("a", "Failed", 2)], KEY).pod.metadata.name == "a"
    assert traces([vmi("one")], KEY).pod is None


def test_events_are_those_about_the_vm_its_vmi_and_its_launchers():
    created = "Created virtual machine pod virt-launcher-one-aaaaa"
    gone = "Deleted virtual machine pod virt-launcher-one-bbbbb."
    found = traces(
        [
            vm("one"), pod("virt-launcher-one-aaaaa", machine="one"),
            event("1", message="virt-launcher-one-zzzzz"),  # no words of the VMI's
            event("2", "VirtualMachineInstance", message=created),
            event("3", "VirtualMachineInstance", message=gone),
            event("4", "Pod", "virt-launcher-one-aaaaa"),
            event("5", "Pod", "virt-launcher-one-bbbbb"),
            event("6", "Pod", "virt-launcher-one-zzzzz"),
            event("7", "VirtualMachine", "two"), event("8", namespace="elsewhere"),
            {**event("9"), "apiVersion": "events.k8s.io/v1"},
        ],
        KEY,
    )  # fmt: skip
    assert sorted(names(found.events)) == ["1", "2", "3", "4", "5"]
    assert names(found.said("")) == names(found.events)
    assert found.said("Other") == ()


def test_events_are_told_by_when_they_were_said_last_and_how_often():
    found = traces(
        [
            vm("one"),
            event("a", lastTimestamp="2026-01-01T00:00:04Z", count=7),
            event("b", eventTime="2026-01-01T00:00:03Z", reportingComponent="scheduler"),
            event("c", series={"count": 9, "lastObservedTime": "2026-01-01T00:00:05Z"}),
            event("d", meta={"creationTimestamp": "2026-01-01T00:00:02Z"},
                  source={"component": "kubelet"}),
            event("e"),
        ],
        KEY,
    )  # fmt: skip
    assert names(found.events) == ["c", "a", "b", "d", "e"]
    assert [item.times for item in found.events] == [9, 7, 1, 1, 1]
    assert [item.component for item in found.events] == ["", "", "scheduler", "kubelet", ""]


def test_events_of_an_older_vm_of_that_name_are_not_its_own():
    made = vm("one")
    made["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    found = traces(
        [
            made, event("old", lastTimestamp="2026-01-01T00:00:00Z"),
            event("new", lastTimestamp="2026-01-02T00:00:00Z"),
        ],
        KEY,
    )  # fmt: skip
    assert names(found.events) == ["new"]


def test_only_the_newest_launchers_of_those_that_are_gone_count():
    events = []
    for index in range(5):
        name = f"virt-launcher-one-{index}x"
        at = f"2026-01-01T00:00:0{index}Z"
        events += [
            event(f"m{index}", "VirtualMachineInstance", message=f"pod {name}", lastTimestamp=at),
            event(f"p{index}", "Pod", name, lastTimestamp=at),
        ]
    found = traces([vm("one"), *events], KEY)
    assert [item for item in names(found.events) if item.startswith("p")] == ["p4", "p3", "p2"]


def test_events_are_found_among_objects():
    assert names(events_of([vm("one"), event("a")])) == ["a"]


def test_what_containers_wait_for():
    made = pod("p", machine="one")
    made["status"] |= {
        "initContainerStatuses": [{"state": {"waiting": {"reason": "A"}}}, {"state": {}}, {}],
        "containerStatuses": [{"state": {"waiting": {"reason": "B", "message": "m"}}}],
    }
    found = traces([vmi("one"), made], KEY)
    assert [(item.reason, item.message) for item in found.pod.waiting()] == [("A", ""), ("B", "m")]
    del made["status"]
    found = traces([vmi("one"), made], KEY)
    assert (list(found.pod.waiting()), found.pod.finished) == ([], False)


def test_an_object_that_cannot_be_read_is_told():
    made = {**vm("one"), "status": {"conditions": "many"}}
    with pytest.raises(InvalidInput, match="VirtualMachine: Expected `array"):
        traces([made], KEY)
