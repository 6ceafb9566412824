"""Rows for tests."""

from passway.service.audit import Draft

FIELDS = {
    "time": "2026-06-12T09:30:00Z", "request_id": "r-1", "replica": "one", "user": "alice",
    "source": "192.0.2.7", "action": "permit", "api_version": "kubevirt.io/v1", "kind": "KubeVirt",
    "namespace": "kubevirt", "name": "kubevirt", "before": None, "after": "{}", "phase": "intent",
    "intent": None, "result": None, "detail": None,
}  # fmt: skip


def draft(**changed) -> Draft:
    return Draft(**{**FIELDS, **changed})


def outcome(intent, **changed) -> Draft:
    return draft(phase="outcome", intent=intent, result="done", **changed)
