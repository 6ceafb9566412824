"""From issues to outcomes and answers, as truth tables, and the texts of references."""

from itertools import product

import pytest

from passway.model.errors import ERRORS, EXIT_CONFLICT, Conflict, InvalidManifest, PasswayError
from passway.model.quantity import quantity
from passway.model.verdict import (
    NO_PARAMS,
    Fits,
    Free,
    Holding,
    Issue,
    Outcome,
    Part,
    Position,
    Ref,
    Severity,
    Shortage,
    Stage,
    StageResult,
    Verdict,
    fits_of,
    outcome_of,
)


def issue(severity: Severity, stage: Stage = Stage.HOST) -> Issue:
    return Issue("KindUnread", stage, severity)


@pytest.mark.parametrize(
    ("error", "unknown", "warning", "outcome", "fits"),
    [
        (False, False, False, Outcome.PASS, Fits.YES),
        (False, False, True, Outcome.WARN, Fits.YES),
        (False, True, False, Outcome.UNKNOWN, Fits.UNKNOWN),
        (False, True, True, Outcome.UNKNOWN, Fits.UNKNOWN),
        (True, False, False, Outcome.FAIL, Fits.NO),
        (True, False, True, Outcome.FAIL, Fits.NO),
        (True, True, False, Outcome.FAIL, Fits.NO),
        (True, True, True, Outcome.FAIL, Fits.NO),
    ],
)
def test_error_counts_before_unknown_and_unknown_before_warning(
    error, unknown, warning, outcome, fits
):
    present = {Severity.ERROR: error, Severity.UNKNOWN: unknown, Severity.WARNING: warning}
    issues = [issue(severity) for severity, there in present.items() if there]
    for order in (issues, issues[::-1], issues * 2):
        assert outcome_of(order) is outcome
        assert fits_of(order) is fits


def test_issues_may_come_from_an_iterator():
    assert fits_of(issue(severity) for severity in Severity) is Fits.NO


def test_outcome_and_answer_never_disagree():
    for severities in product(Severity, repeat=3):
        issues = [issue(severity) for severity in severities]
        assert (fits_of(issues) is Fits.NO) == (outcome_of(issues) is Outcome.FAIL)
        assert (fits_of(issues) is Fits.UNKNOWN) == (outcome_of(issues) is Outcome.UNKNOWN)


def test_a_verdict_has_the_issues_of_its_stages_in_their_order():
    first, second = issue(Severity.ERROR, Stage.QUOTA), issue(Severity.WARNING, Stage.HOST)
    verdict = Verdict(
        Ref("VirtualMachine", "vm", "lab"),
        Fits.NO,
        (
            StageResult(Stage.QUOTA, Outcome.FAIL, (first,)),
            StageResult(Stage.NETWORKS, Outcome.PASS),
            StageResult(Stage.HOST, Outcome.WARN, (second,)),
        ),
    )
    assert verdict.issues == (first, second)


def test_an_issue_without_params_shares_one_mapping_that_cannot_change():
    assert issue(Severity.ERROR).params is NO_PARAMS
    with pytest.raises(TypeError):
        NO_PARAMS["x"] = 1  # type: ignore[index]


def test_references_and_places_print_as_people_write_them():
    assert str(Ref("Node", "gpu-1")) == "gpu-1"
    assert str(Ref("VirtualMachine", "vm", "lab")) == "lab/vm"
    assert str(Position("vm.yaml", 3, 7)) == "vm.yaml:3:7"


def test_amounts_print_with_their_node_and_holder():
    holder = Ref("VirtualMachine", "vm", "lab")
    assert str(Free("n1", quantity(1), quantity(4))) == "1 free of 4 on n1"
    assert str(Holding(holder, quantity(2), "n1")) == "lab/vm (2 on n1)"
    assert str(Holding(holder, quantity(2), "n1", resource="a.b/c")) == "lab/vm (2 a.b/c on n1)"
    deleted = Holding(holder, quantity(2), "n1", "virt-launcher-x", "2026-01-01T00:00:00Z")
    assert str(deleted) == (
        "lab/vm (2 on n1, pod virt-launcher-x is being deleted since 2026-01-01T00:00:00Z and "
        "counts until then)"
    )
    assert str(Shortage("n1", ("GPU",), ("cpu", "taint"))) == "n1 has GPU but fails cpu, taint"
    assert str(Shortage("n1", (), ("memory",))) == "n1 fails memory"
    assert str(Part("vCPUs", quantity(2**20, "BinarySI"))) == "vCPUs 1Mi"


def test_an_error_has_the_code_of_its_class_unless_it_says_how_it_differs():
    plain, named = Conflict("differs"), Conflict("differs", code="IN_USE", hint="stop it")
    assert (plain.code, plain.hint, plain.issues) == ("CONFLICT", "", ())
    assert (named.code, named.hint, named.kind.exit_code) == ("IN_USE", "stop it", EXIT_CONFLICT)
    found = (issue(Severity.ERROR),)
    assert InvalidManifest("faults", issues=found).issues == found


def test_every_error_has_its_own_code_and_a_client_or_server_status():
    assert len({error.kind.code for error in ERRORS}) == len(ERRORS)
    assert all(400 <= error.kind.status < 600 for error in ERRORS)
    assert all(issubclass(error, PasswayError) and error.__doc__ for error in ERRORS)
