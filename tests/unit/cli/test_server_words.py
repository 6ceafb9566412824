"""What the API server said on a dry run, as a person reads it, and what it counts for."""

import click
import pytest

from passway.cli.verdict import exit_code, text
from passway.service.documents import CauseDocument, MachineRef, TrialDocument, VerdictDocument

REF = MachineRef(kind="VirtualMachine", name="one", namespace="ml")


def verdict(*trials, fits="yes"):
    return VerdictDocument(
        machine=REF, fits=fits, replicas=1, places=1, issues=(), stages=(), nodes=(),
        node_groups=(), server=trials,
    )  # fmt: skip


def trial(outcome, agreement="agrees", **rest):
    return TrialDocument(object=REF, outcome=outcome, agreement=agreement, **rest)


ABOUT = "API server: VirtualMachine ml/one: "


@pytest.mark.parametrize(
    ("trial", "lines", "code"),
    [
        (trial("accepted"), [f"{ABOUT}accepted"], 0),
        (trial("accepted", message="it exists already", warnings=("old\x1b",)),
         [f"{ABOUT}accepted (it exists already)", "  warning: old\\x1b"], 0),
        (trial("refused", by="ResourceQuota q", message="exceeded quota: q"),
         [f"{ABOUT}refused by ResourceQuota q: exceeded quota: q"], 1),
        (trial("refused", "differs", by="virt-api (w)", message="two things", causes=(
            CauseDocument(field="spec.a", reason="r", message="first"),
            CauseDocument(field="spec.b", reason="r", message="things"))),
         [f"{ABOUT}refused by virt-api (w): two things", "  spec.a: first",
          "  our walk would accept it here; the API server is right, please report this"], 1),
        (trial("accepted", "differs"),
         [f"{ABOUT}accepted",
          "  our walk would refuse it here; the API server is right, please report this"], 0),
        (trial("not_tried", "not_tried", message="not allowed: create pods"),
         [f"{ABOUT}not tried: not allowed: create pods"], 3),
    ],
)  # fmt: skip
def test_the_server_s_words(trial, lines, code):
    found = verdict(trial)
    shown = click.unstyle(text(found, "warning", wide=False))
    assert shown.split("\n\n")[1].splitlines() == lines
    assert exit_code([found], strict=False) == code


def test_what_was_not_tried_is_a_no_where_unknown_is_one():
    found = verdict(trial("not_tried", "not_tried"))
    assert exit_code([found], strict=True) == 1
    assert exit_code([verdict(trial("accepted"), fits="no")], strict=False) == 1
