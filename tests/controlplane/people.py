"""People on the real API server: service accounts, their tokens, and what RBAC binds them to.

The ClusterRoles are those of the chart, applied as they are in its file.
"""

import base64
import json
import time
from pathlib import Path
from typing import Any, Final

import yaml
from joserfc import jwt
from joserfc.jwk import ECKey
from tests.controlplane.plane import Plane

ROLES: Final = Path(__file__).parents[2] / "charts" / "passway" / "files" / "roles.yaml"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
API_GROUP: Final = "rbac.authorization.k8s.io"
READING: Final = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
WRITING: Final = [
    {"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["create"]},
    {"apiGroups": ["kubevirt.io"], "resources": ["kubevirts"], "verbs": ["patch"]},
]
EXTRAS: Final = [f"userextras/authentication.kubernetes.io/{key}" for key in ("credential-id",)]
IMPERSONATING: Final = [
    {"apiGroups": [""], "resources": ["serviceaccounts", "groups"], "verbs": ["impersonate"]},
    {"apiGroups": ["authentication.k8s.io"], "resources": ["uids", *EXTRAS],
     "verbs": ["impersonate"]},
]  # fmt: skip


class People:
    """The accounts of one namespace."""

    def __init__(self, plane: Plane, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self._roles = list(yaml.safe_load_all(ROLES.read_text()))
        for role in self._roles:
            plane.request("POST", f"{RBAC}/clusterroles", role, expected=(201, 409))

    def leave(self) -> None:
        """Their roles are gone, for whoever makes them otherwise."""
        for role in self._roles:
            path = f"{RBAC}/clusterroles/{role['metadata']['name']}"
            self.plane.request("DELETE", path, expected=(200, 404))

    def account(self, name: str) -> str:
        """A new account; its token."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts"
        self.plane.request("POST", path, {"metadata": {"name": name}})
        return self.token(name)

    def token(self, name: str) -> str:
        made = self.plane.request(
            "POST", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        )  # fmt: skip
        return str(made["status"]["token"])

    def remove(self, name: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{name}"
        self.plane.request("DELETE", path)

    def user(self, name: str) -> str:
        """How the cluster calls an account."""
        return f"system:serviceaccount:{self.namespace}:{name}"

    def bind(self, name: str, role: str, *, everywhere: bool = False) -> str:
        """Binds a ClusterRole, in the namespace or in the cluster; the path of the binding."""
        where = "" if everywhere else f"/namespaces/{self.namespace}"
        path = f"{RBAC}{where}/{'clusterrolebindings' if everywhere else 'rolebindings'}"
        meta = {"name": f"{self.namespace}-{name}-{role}".replace(":", "-")}
        self.plane.request("POST", path, {
            "metadata": meta,
            "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}],
        })  # fmt: skip
        return f"{path}/{meta['name']}"

    def role(self, name: str, *rules: dict[str, Any]) -> str:
        """A ClusterRole of this namespace's name."""
        full = f"{self.namespace}-{name}"
        body = {"metadata": {"name": full}, "rules": list(rules)}
        self.plane.request("POST", f"{RBAC}/clusterroles", body)
        return full

    def allowed(self, name: str, verb: str, group: str, resource: str, namespace: str = "") -> bool:
        """What the API server says, asked directly."""
        attributes = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{self.namespace}",
                  "system:authenticated"]  # fmt: skip
        found = self.plane.request(
            "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
             "spec": {"user": self.user(name), "groups": groups,
                      "resourceAttributes": attributes}},
        )  # fmt: skip
        return bool(found["status"]["allowed"])

    def resigned(self, token: str, lifetime_s: int) -> str:
        """The same token, with the cluster's own key, that expires so many seconds from now."""
        header, claims = (
            json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
            for part in token.split(".")[:2]
        )
        now = int(time.time())
        claims |= {"iat": now - 7200, "nbf": now - 7200, "exp": now + lifetime_s}
        key = ECKey.import_key(Path(self.plane.keys.key("accounts")).read_text())
        return str(jwt.encode(header, claims, key, algorithms=[header["alg"]]))
