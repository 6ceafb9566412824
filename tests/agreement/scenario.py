"""A scenario: one cluster and one VM, as plain objects that can be created, counted and printed."""

import copy
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

Object = dict[str, Any]
HOME: Final = "agreement"
"""The namespace of the VM."""
AWAY: Final = "elsewhere"


@dataclass
class Scenario:
    """What is created, in this order; pods carry the status that their kubelet would report.

    A pod with `deletionTimestamp` is one that was told to end and did not; `injector` says whether
    network-resources-injector is installed.
    """

    seed: int
    theme: str
    configuration: Object
    vm: Object
    injector: bool = False
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)
    """Namespace -> its labels."""
    priorities: list[Object] = field(default_factory=list)
    nodes: list[Object] = field(default_factory=list)
    volumes: list[Object] = field(default_factory=list)
    """StorageClasses, PersistentVolumes and claims."""
    attachments: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)
    quotas: list[Object] = field(default_factory=list)
    """ResourceQuotas and LimitRanges."""

    def copy(self) -> "Scenario":
        return copy.deepcopy(self)

    def text(self) -> str:
        """Everything, to be read and to be created by hand."""
        shown = {
            "seed": self.seed, "theme": self.theme, "configuration": self.configuration,
            "injector": self.injector, "namespaces": self.namespaces,
        }  # fmt: skip
        listed = (self.priorities, self.nodes, self.volumes, self.attachments, self.pods,
                  self.quotas, [self.vm])  # fmt: skip
        objects = [obj for part in listed for obj in part]
        return yaml.safe_dump_all([shown, *objects], sort_keys=False, allow_unicode=True)
