"""The rights that routes ask for, and the three roles made of them.

The resources are virtual: RBAC grants them like any other, and no API serves them. The ClusterRoles
of the chart grant the same as the roles of a token file; a test compares them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from passway.service.gate import CREATE_MACHINES, Right

REASONS: Final = Right("get", "reasons")
ASK: Final = Right("create", "preflights", namespaced=True)
LOOK: Final = Right("get", "preflights", namespaced=True)
INVENTORY: Final = Right("get", "inventories")
PERMITS: Final = Right("get", "permits")
PERMIT: Final = Right("create", "permits")
UNPERMIT: Final = Right("delete", "permits")
AUDIT: Final = Right("get", "audits")


class Role(StrEnum):
    """What somebody may do, as a token file says it."""

    VIEWER = "viewer"
    USER = "user"
    ADMIN = "cluster.admin"


CLUSTER_ROLES: Final[Mapping[Role, str]] = {
    Role.VIEWER: "passway-viewer",
    Role.USER: "passway-user",
    Role.ADMIN: "passway-admin",
}
ROLES: Final[Mapping[Role, tuple[Right, ...]]] = {
    Role.VIEWER: (REASONS,),
    Role.USER: (REASONS, ASK, LOOK),
    Role.ADMIN: (REASONS, ASK, LOOK, INVENTORY, PERMITS, PERMIT, UNPERMIT, AUDIT),
}
"""Role -> its rights of the group passway.dev."""


def remedy(right: Right, namespace: str | None) -> str:
    """What to ask for, to have a right."""
    where = f' in namespace "{namespace}"' if namespace and right.namespaced else ""
    for role, rights in ROLES.items():
        if right in rights:
            bound = "a RoleBinding" if where else "a binding"
            return f"the role {role.value} has it: {bound} to {CLUSTER_ROLES[role]}{where}"
    beside = ", beside the role" if right == CREATE_MACHINES else ""
    return f"ask for the right to {right}{where}{beside}"
