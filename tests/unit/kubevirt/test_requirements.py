"""What a preference requires, of an instance type or of the VM itself."""

import json

import pytest

from passway.kubevirt.requirements import unmet
from passway.model.quantity import parse_quantity

CPU = "spec.template.spec.domain.cpu"


def told(cause):
    return cause and (cause.type, cause.field, cause.sites[0].path)


def check(requirements, instancetype=None, *, topology=None, cpu=None, memory=None, **spec):
    preference = json.loads(json.dumps({"requirements": requirements, **(topology or {})}))
    given = {"domain": {"cpu": cpu or {}, "memory": memory or {}}, **spec}
    return unmet(instancetype, preference, given)


def test_an_instance_type_is_measured_by_what_it_gives():
    given = {"cpu": {"guest": 4}, "memory": {"guest": "8Gi"}}
    assert check({"cpu": {"guest": 4}, "memory": {"guest": "8Gi"}}, given) is None
    few = check({"cpu": {"guest": 5}, "memory": {"guest": "9Gi"}}, given)
    assert told(few) == ("FieldValueNotFound", "spec.instancetype", "instancetype")
    assert (few.params["resource"], str(few.params["given"])) == ("cpu", "4")
    small = check({"memory": {"guest": "9Gi"}}, given)
    assert told(small) == ("FieldValueNotFound", "spec.instancetype", "instancetype")
    assert small.params["wanted"] == parse_quantity("9Gi")


def spread(**options):
    return {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": options}}


@pytest.mark.parametrize(
    ("topology", "cpu", "levels"),
    [
        ({}, {"sockets": 3, "cores": 9}, ["sockets"]),
        ({"cpu": {"preferredCPUTopology": "cores"}}, {"cores": 3, "sockets": 9}, ["cores"]),
        ({"cpu": {"preferredCPUTopology": "preferThreads"}}, {"threads": 3}, ["threads"]),
        ({"cpu": {"preferredCPUTopology": "any"}}, {"cores": 3, "sockets": 1, "threads": 1},
         ["cores", "sockets", "threads"]),
        ({"cpu": {"preferredCPUTopology": "any"}}, {"cores": 9}, ["cores", "sockets", "threads"]),
        (spread(), {"cores": 3, "sockets": 1}, ["sockets", "cores"]),
        (spread(across="CoresThreads"), {"cores": 1, "threads": 2, "sockets": 9},
         ["cores", "threads"]),
        (spread(across="SocketsCoresThreads"), {"cores": 1, "threads": 1, "sockets": 1},
         ["sockets", "cores", "threads"]),
    ],
)  # fmt: skip
def test_a_vm_is_counted_by_the_preferred_levels(topology, cpu, levels):
    cause = check({"cpu": {"guest": 4}}, topology=topology, cpu=cpu)
    fields = ", ".join(f"{CPU}.{level}" for level in levels)
    assert told(cause) == ("FieldValueNotFound", fields, "template.spec.domain.cpu")
    assert cause.params["levels"] == tuple(levels)
    enough = {"cores": 8, "sockets": 8, "threads": 8}
    assert check({"cpu": {"guest": 4}}, topology=topology, cpu=enough) is None


def test_topologies_that_kubevirt_does_not_know():
    odd = {"cpu": {"preferredCPUTopology": "odd"}}
    assert check({"cpu": {"guest": 4}}, topology=odd) is None
    cause = check({"cpu": {"guest": 4}}, topology=spread(across="odd"), cpu={"cores": 9})
    assert told(cause) == ("FieldValueNotFound", CPU, "template.spec.domain.cpu")


def test_memory_of_a_vm():
    wanted = {"memory": {"guest": "4Gi"}}
    assert check(wanted, memory={"guest": "4Gi"}) is None
    assert told(check(wanted, memory={"guest": "3Gi"}))[1] == "spec.template.spec.domain.memory"
    assert str(check(wanted).params["given"]) == "0"


def test_architecture():
    wanted = {"architecture": "arm64"}
    assert check(wanted, architecture="arm64") is None
    cause = check(wanted, {}, architecture="amd64")
    assert told(cause)[1] == "spec.template.spec.architecture"
    assert dict(cause.params) == {"resource": "architecture", "wanted": "arm64", "given": "amd64"}
