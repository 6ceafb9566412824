"""Failures: words on stderr and exit codes, whatever happens."""

import click
import pytest

from passway.cli import failures
from passway.model import errors
from passway.model.verdict import Issue, Position, Severity, Stage
from passway.service.documents import IssueDocument

ISSUE = Issue(
    "InvalidValue", Stage.MANIFEST, Severity.ERROR, path="spec.x", params={"problem": "it is bad"},
    position=Position("vm.yaml", 3, 5),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.PreflightFailed, 1), (errors.InvalidInput, 2), (errors.InvalidManifest, 2),
        (errors.TooLarge, 2), (errors.Unauthenticated, 4), (errors.Forbidden, 4),
        (errors.Conflict, 5), (errors.NotFound, 6), (errors.Unavailable, 7),
        (errors.NotSynced, 7), (errors.PasswayError, 70),
    ],
)  # fmt: skip
def test_each_expected_failure_has_its_code(kind, code, capsys):
    assert failures.report(kind("it went \x1bwrong", hint="do this")) == code
    assert capsys.readouterr().err == "error: it went \\x1bwrong\nhint: do this\n"


def test_issues_are_shown_in_message_form_and_counted_if_several(capsys):
    failures.report(errors.InvalidManifest("1 fault", issues=(ISSUE,)))
    one = capsys.readouterr().err
    assert one.startswith("error: vm.yaml:3:5: InvalidValue: it is bad\nhint: ")
    assert "finding" not in one
    failures.report(errors.InvalidManifest("2 faults", issues=(ISSUE, ISSUE)))
    assert "error: The manifest is not valid: 2 findings" in capsys.readouterr().err


def test_issues_that_a_service_told_are_shown_as_they_are(capsys):
    told = IssueDocument(
        reason="FromTheFuture", stage="quota", severity="error", message="m", remedy="", docs=""
    )
    error = failures.told(errors.Conflict, "no", hint="", code="NEW", documents=(told,))
    assert isinstance(error, errors.Conflict)
    assert (error.code, failures.report(error)) == ("NEW", 5)
    assert capsys.readouterr().err == "error: FromTheFuture: m\n"


def test_places_in_texts_that_nobody_wrote_can_be_left_out(capsys):
    error = failures.without_places(errors.InvalidManifest("1 fault", issues=(ISSUE,)))
    assert failures.report(error) == 2
    assert capsys.readouterr().err.startswith("error: spec.x: InvalidValue: ")


def fail_deeply() -> None:
    raise KeyError("x\x1b")


def bug() -> Exception:
    try:
        fail_deeply()
    except KeyError as error:
        return error
    raise AssertionError


def test_a_bug_has_an_id_and_no_traceback(capsys):
    assert failures.report(bug()) == 70
    first = capsys.readouterr().err
    assert "please report" in first
    assert "Traceback" not in first
    failures.report(bug())
    assert capsys.readouterr().err == first


def test_a_bug_shows_its_traceback_on_request(capsys):
    assert failures.report(bug(), verbose=True) == 70
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "\x1b" not in err


def test_interruption_and_usage(capsys):
    assert failures.report(click.Abort()) == 130
    assert failures.report(click.UsageError("what?")) == 2
    context = click.Context(click.Command("check"), info_name="check")
    assert failures.report(click.UsageError("what?", context)) == 2
    assert capsys.readouterr().err == (
        "interrupted\nerror: what?\nerror: what?\nhint: check --help\n"
    )
