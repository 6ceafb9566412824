"""The numbers of fields in Kubernetes' protobuf encoding, for the records that are read that way.

Owns facts of the API and nothing else: number of each field (a path of two where JSON has the
fields of the inner message in the outer one), which fields are optional in the API's own types, and
which are times. A field that a record gains is one line here; a test names those that lack one.
Source: k8s.io/api/core/v1/generated.proto and k8s.io/apimachinery, v1.36; numbers never change.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from passway.cluster import records as r

Number: TypeAlias = int | tuple[int, int]

NUMBERS: Final[Mapping[type[r.Record], Mapping[str, Number]]] = {
    r.Meta: {
        "name": 1, "namespace": 3, "uid": 5, "resource_version": 6, "creation_timestamp": 8,
        "deletion_timestamp": 9, "labels": 11, "annotations": 12, "owner_references": 13,
    },
    r.PodMeta: {
        "name": 1, "namespace": 3, "resource_version": 6, "creation_timestamp": 8,
        "deletion_timestamp": 9, "labels": 11, "owner_references": 13,
    },
    r.OwnerReference: {"kind": 1, "name": 3, "uid": 4, "controller": 6},
    r.Requirement: {"key": 1, "operator": 2, "values": 3},
    r.LabelSelector: {"match_labels": 1, "match_expressions": 2},
    r.NodeSelectorTerm: {"match_expressions": 1, "match_fields": 2},
    r.NodeSelector: {"node_selector_terms": 1},
    r.NodeAffinity: {"required": 1},
    r.PodAffinityTerm: {
        "label_selector": 1, "namespaces": 2, "topology_key": 3, "namespace_selector": 4,
        "match_label_keys": 5, "mismatch_label_keys": 6,
    },
    r.PodAffinity: {"required": 1},
    r.Affinity: {"node_affinity": 1, "pod_affinity": 2, "pod_anti_affinity": 3},
    r.Taint: {"key": 1, "value": 2, "effect": 3},
    r.Condition: {"type": 1, "status": 2, "last_heartbeat_time": 3, "reason": 5},
    r.NodeSpec: {"unschedulable": 4, "taints": 5},
    r.NodeStatus: {"capacity": 1, "allocatable": 2, "conditions": 4},
    r.Node: {"metadata": 1, "spec": 2, "status": 3},
    r.Resources: {"limits": 1, "requests": 2},
    r.Port: {"host_port": 2, "protocol": 4},
    r.Container: {"name": 1, "ports": 6, "resources": 8, "restart_policy": 24},
    r.ClaimSource: {"claim_name": 1},
    r.PodVolume: {"persistent_volume_claim": (2, 10)},
    r.PodResourceClaim: {
        "name": 1, "resource_claim_name": 3, "resource_claim_template_name": 4,
    },
    r.PodSpec: {
        "volumes": 1, "containers": 2, "node_name": 10, "affinity": 18, "init_containers": 20,
        "priority": 25, "overhead": 32, "resource_claims": 39, "resources": 40,
    },
    r.ContainerStatus: {"name": 1, "allocated_resources": 10, "resources": 11},
    r.PodCondition: {"type": 1, "reason": 5},
    r.PodStatus: {
        "phase": 1, "conditions": 2, "container_statuses": 8, "init_container_statuses": 10,
        "nominated_node_name": 11, "allocated_resources": 19, "resources": 20,
    },
    r.Pod: {"metadata": 1, "spec": 2, "status": 3},
}  # fmt: skip

OPTIONAL: Final[Mapping[type[r.Record], frozenset[str]]] = {
    r.OwnerReference: frozenset({"controller"}),
    r.Container: frozenset({"restart_policy"}),
    r.PodResourceClaim: frozenset({"resource_claim_name", "resource_claim_template_name"}),
    r.PodSpec: frozenset({"priority"}),
}
"""Scalars that are pointers in the API's types: of those, and only those, JSON shows a zero."""

TIMES: Final = frozenset({"creation_timestamp", "deletion_timestamp", "last_heartbeat_time"})
"""Texts in JSON, and seconds since 1970 here."""
