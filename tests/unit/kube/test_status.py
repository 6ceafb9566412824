"""What a refusal of an API server, or of something before it, means."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.faulty import status_of

from passway.cluster.kinds import Kind
from passway.kube.status import SHOWN, printable, refusal, trial_of
from passway.model.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    PasswayError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from passway.service.ports import Cause, Expired, Trial

CONFIG = Kind("", "v1", "ConfigMap", "configmaps", namespaced=True)
MACHINE = Kind("kubevirt.io", "v1", "VirtualMachine", "virtualmachines", namespaced=True)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)

NO_RIGHT = (
    'virtualmachines.kubevirt.io is forbidden: User "bob" cannot {} resource "virtualmachines" in'
    ' API group "kubevirt.io" in the namespace "lab"'
)


def told(code, message="", reason="", details=None, *, verb="get", kind=MACHINE, name="vm",
         namespace="lab"):  # fmt: skip
    body = json.dumps(status_of(code, message, reason, details)).encode()
    return refusal(code, body, verb, kind, name, namespace)


def test_nobody_known():
    error = told(401, "Unauthorized", "Unauthorized")
    assert isinstance(error, Unauthenticated)
    assert "log in again" in error.hint


@pytest.mark.parametrize("user", ["bob", 'a \\"b\\" c', "system:serviceaccount:x:y"])
def test_a_missing_right_is_named(user):
    error = told(403, NO_RIGHT.format("get").replace("bob", user))
    assert isinstance(error, Forbidden)
    assert error.code == "RBAC_DENIED"
    assert str(error) == 'not allowed: get virtualmachines.kubevirt.io in namespace "lab"'
    assert "the right to get virtualmachines.kubevirt.io" in error.hint
    everywhere = told(403, NO_RIGHT.format("list"), verb="list", name=None, namespace=None)
    assert "at the cluster scope" in str(everywhere)


def test_another_right_than_ours_is_named_by_the_server():
    message = 'users "bob" is forbidden: User "alice" cannot impersonate resource "users" in API '
    error = told(403, f'{message}group "" at the cluster scope')
    assert error.code == "RBAC_DENIED"
    assert "impersonate" in str(error)
    assert "get" not in error.hint


@pytest.mark.parametrize(
    "message",
    [
        'pods "p" is forbidden: exceeded quota: gpus, requested: requests.a.b/gpu=1',
        'admission webhook "x.dev" denied the request: you cannot create this',
        'admission webhook "x.dev" denied the request: User "bob" cannot create VMs',
        "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: cannot use a GPU",
    ],
)
def test_what_admission_says_is_kept(message):
    error = told(403, message, verb="create")
    assert (error.code, str(error)) == ("ADMISSION_DENIED", message)


def test_nothing_that_reads_is_stopped_by_admission():
    error = refusal(403, b"<html>no</html>", "list", CONFIG, None, None)
    assert error.code == "RBAC_DENIED"
    assert "the API server answered 403" in str(error)


def test_an_object_a_namespace_or_a_kind_is_missing():
    gone = told(404, "…", "NotFound", {"name": "vm", "kind": "virtualmachines"})
    assert str(gone) == 'virtualmachines.kubevirt.io "vm" in namespace "lab" does not exist'
    assert gone.code == "NOT_FOUND"
    space = told(404, "…", "NotFound", {"name": "lab\x1b[1m", "kind": "namespaces"}, verb="create")
    assert str(space) == 'namespace "lab\ufffd[1m" does not exist'
    itself = told(404, "…", "NotFound", {"name": "lab", "kind": "namespaces"},
                  kind=NAMESPACE, name="lab", namespace=None)  # fmt: skip
    assert str(itself) == 'namespaces "lab" does not exist'
    for body in (b"404 page not found\n", b'{"kind":"Status","details":{}}', b""):
        kind = refusal(404, body, "get", MACHINE, "vm", "lab")
        assert isinstance(kind, NotFound)
        assert kind.code == "KIND_NOT_SERVED"


def test_no_api_server_lacks_the_core_group():
    """A proxy's 404 must not read as "there are no nodes"."""
    error = refusal(404, b"<html>nothing here</html>", "list", CONFIG, None, None)
    assert isinstance(error, Unavailable)
    assert "no Kubernetes API" in str(error)


def test_the_two_conflicts():
    exists = told(409, "…", "AlreadyExists", verb="create")
    assert isinstance(exists, Conflict)
    assert exists.code == "ALREADY_EXISTS"
    for changed in (told(409, "please apply", "Conflict"), refusal(409, b"?", "patch", CONFIG, "c",
                                                                   "lab")):  # fmt: skip
        assert isinstance(changed, Conflict)
        assert changed.code == "CONCURRENT_CHANGE"
        assert changed.hint


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, InvalidInput), (405, InvalidInput), (406, InvalidInput), (414, InvalidInput),
        (415, InvalidInput), (422, InvalidInput), (410, Expired), (413, TooLarge),
        (301, Unavailable), (407, Unavailable), (429, Unavailable), (500, Unavailable),
        (502, Unavailable), (503, Unavailable), (504, Unavailable), (0, Unavailable),
    ],
)  # fmt: skip
def test_the_rest(code, error):
    found = told(code, "in the server's words")
    assert type(found) is error
    assert "in the server's words" in str(found)


@pytest.mark.parametrize("code", [504, 500, 400])
def test_a_server_that_was_set_back_wants_a_new_list(code):
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    assert isinstance(told(code, "Timeout: Too large", "Timeout", {"causes": causes}), Expired)
    for details in ({"causes": ["x"]}, {"causes": "x"}, {"causes": [{"reason": "x"}]}, {}):
        assert not isinstance(told(code, "Timeout", "Timeout", details), Expired)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>\n<b>504</b>", b"[1]", b'{"error": 5}', b'{"message": 5}', b'{"mess', b"null",
     b'{"a":' * 50_000],
)  # fmt: skip
def test_what_is_no_status_counts_only_by_its_number(body):
    found = refusal(504, body, "get", CONFIG, "c", "lab")
    assert isinstance(found, Unavailable)
    assert len(str(found)) < 120


def test_words_of_others_are_short_and_printable():
    found = refusal(502, b"upstream\x1b]0;owned\x07\r\n  failed \xff" + b"x" * 5000, "get", CONFIG,
                    "c", "lab")  # fmt: skip
    assert "upstream\ufffd]0;owned\ufffd failed \ufffd" in str(found)
    assert len(str(found)) < SHOWN + 100
    assert printable(" a\n\tb ") == "a b"


@given(st.integers(0, 999), st.binary(max_size=80), st.sampled_from(["get", "list", "create"]))
def test_any_answer_is_an_error_of_ours(code, body, verb):
    found = refusal(code, body, verb, MACHINE, "vm", "lab")
    assert isinstance(found, PasswayError)
    assert str(found).isprintable()


# -- a dry run ------------------------------------------------------------------------------------


def tried(code, message="", reason="", details=None, warnings=()):
    body = json.dumps(status_of(code, message, reason, details)).encode()
    return trial_of(code, body, warnings, MACHINE, "lab")


def test_an_accepted_object():
    assert trial_of(201, b"{}", ("old",), MACHINE, "lab") == Trial(accepted=True, warnings=("old",))


def test_a_name_that_is_taken_is_looked_for_last():
    found = tried(409, "vm exists", "AlreadyExists")
    assert (found.accepted, found.message) == (True, "vm exists")


@pytest.mark.parametrize(
    ("code", "reason"),
    [(403, "Forbidden"), (422, "Invalid"), (400, "BadRequest"), (404, "NotFound"),
     (500, "InternalError"), (409, "Conflict")],
)  # fmt: skip
def test_a_refused_object(code, reason):
    details = {"name": "vm", "causes": [
        {"field": "spec.a", "reason": "FieldValueInvalid", "message": "no\x1b"}, "odd", {},
    ]}  # fmt: skip
    found = tried(code, "words", reason, details)
    assert (found.accepted, found.reason, found.message) == (False, reason, "words")
    assert found.causes == (
        Cause("spec.a", "FieldValueInvalid", "no\ufffd"), Cause("", "", ""),
    )  # fmt: skip


def test_a_refusal_without_words():
    found = trial_of(422, b"<html>", (), MACHINE, "lab")
    assert (found.accepted, found.message) == (False, "the API server answered 422")
    assert tried(422, "x", "Invalid", {"causes": "many"}).causes == ()


@pytest.mark.parametrize(
    ("code", "message", "error"),
    [(403, NO_RIGHT.format("create"), Forbidden), (401, "", Unauthenticated),
     (503, "", Unavailable), (429, "", Unavailable)],
)  # fmt: skip
def test_what_has_nothing_to_do_with_the_object_is_raised(code, message, error):
    with pytest.raises(error):
        tried(code, message)
