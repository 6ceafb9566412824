"""Every reason renders; lists are cut and counted; extras appear only with their param."""

import re
from string import Formatter

import pytest

from passway.model.quantity import parse_quantity
from passway.model.reasons import REASONS, Reason, render
from passway.model.verdict import Issue, Ref, Severity, Stage

OF_THE_ISSUE = {"path", "nodes", "subject"}


def issue(reason: str, **params) -> Issue:
    return Issue(reason, Stage.SCHEDULING, Severity.ERROR, params=params)


def placeholders(text: str) -> dict[str, str]:
    return {name: spec or "" for _, name, spec, _ in Formatter().parse(text) if name is not None}


def sample(reason: Reason, *, extras: bool) -> dict[str, object]:
    """A param for each placeholder: a number where it is counted, else a word."""
    texts = [reason.message, reason.remedy]
    if extras:
        texts += [text for _, text in reason.extras]
    params: dict[str, object] = {name: f"<{name}>" for name, _ in reason.extras if extras}
    for text in texts:
        for name, spec in placeholders(text).items():
            if spec:
                params[name] = 2
            else:
                params.setdefault(name, f"<{name}>")
    for name in OF_THE_ISSUE & params.keys():
        del params[name]
    return params


@pytest.mark.parametrize("name", REASONS)
@pytest.mark.parametrize("extras", [False, True])
def test_every_reason_renders_with_the_params_that_it_names(name, extras):
    reason = REASONS[name]
    found = Issue(
        name, Stage.HOST, Severity.ERROR, Ref("Node", "n1"), "spec.x",
        sample(reason, extras=extras), ("n1", "n2"),
    )  # fmt: skip
    words = render(found)
    assert words.title == reason.title
    assert words.docs == f"reasons.md#{name.lower()}"
    for text in (words.message, words.remedy):
        assert text
        assert "{" not in text
        assert "  " not in text
    if extras and reason.extras:
        assert len(words.message) > len(render(issue(name, **sample(reason, extras=False))).message)


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
def test_names_are_upper_camel_case_and_titles_are_short_sentences(reason):
    assert re.fullmatch(r"([A-Z][a-z0-9]+)+", reason.name)
    assert REASONS[reason.name] is reason
    assert len(reason.title) <= 72
    assert reason.title[0].isupper()
    assert not reason.title.endswith(".")
    assert not reason.message.endswith(".")
    assert reason.remedy.endswith(".")


def test_anchors_are_unique():
    assert len({reason.docs for reason in REASONS.values()}) == len(REASONS)


def test_titles_are_unique():
    assert len({reason.title for reason in REASONS.values()}) == len(REASONS)


def untolerated(*nodes: str, shown: int = 5) -> str:
    found = Issue(
        "UntoleratedTaint", Stage.SCHEDULING, Severity.ERROR, params={"taints": "x"}, nodes=nodes
    )
    return render(found, shown).message


def test_a_list_is_joined_and_its_verbs_agree():
    assert untolerated("n1").startswith("n1 has all that the VM asks for, but is tainted")
    assert untolerated("n1", "n2").startswith("n1 and n2 have all")
    assert untolerated("n1", "n2", "n3").startswith("n1, n2 and n3 have all")
    assert "but are tainted" in untolerated("n1", "n2")


def test_a_long_list_is_cut_and_the_rest_counted():
    nodes = tuple(f"n{number:02}" for number in range(42))
    assert untolerated(*nodes).startswith("n00, n01, n02, n03, n04 and 37 more (-o wide) have")
    assert "more" not in untolerated(*nodes[:5])
    assert "n41" in untolerated(*nodes, shown=100)


def test_an_empty_list_is_empty_text():
    assert untolerated().startswith(" have all")


def test_a_count_carries_its_noun():
    def message(count: object) -> str:
        return render(issue("ClaimsNotJudged", count=count, claims=("a",))).message

    assert "takes 1 device from" in message(1)
    assert "takes 2 devices from" in message(2)
    assert "takes 3 devices from" in message(("a", "b", "c"))


def test_nouns_that_end_in_y_change_it(monkeypatch):
    entry = Reason("Entries", "Entries", "{count:entry} of {count:key}", "Count.")
    monkeypatch.setitem(REASONS, "Entries", entry)
    assert render(issue("Entries", count=2)).message.startswith("2 entries")
    assert render(issue("Entries", count=1)).message.startswith("1 entry")


def test_extras_are_added_only_when_their_param_says_something():
    plain = 'no node advertises "a.b/gpu"'
    assert render(issue("ResourceNotAdvertised", resource="a.b/gpu")).message == plain
    for nothing in ((), "", 0):
        found = issue("ResourceNotAdvertised", resource="a.b/gpu", near=nothing)
        assert render(found).message == plain
    near = issue("ResourceNotAdvertised", resource="a.b/gpu", near=("a.b/GPU",), permitted=1)
    assert render(near).message == (f"{plain}; nodes advertise a.b/GPU, although it is permitted")


def test_references_and_quantities_print_as_themselves():
    found = issue(
        "QuotaExceeded",
        quota=Ref("ResourceQuota", "gpus", "lab"),
        key="requests.memory",
        requested=parse_quantity("1.5Gi"),
        used=parse_quantity("8Gi"),
        hard=parse_quantity("9Gi"),
    )
    assert render(found).message == (
        "quota lab/gpus: requests.memory needs 1536Mi, but 8Gi of 9Gi are used"
    )


def test_the_subject_and_the_path_of_the_issue_are_params_too():
    found = Issue(
        "WrongType", Stage.MANIFEST, Severity.ERROR, path="spec.cpu",
        params={"wanted": "a number", "found": "a list"},
    )  # fmt: skip
    assert render(found).message == "spec.cpu must be a number, but this is a list"
    gone = Issue(
        "DeviceGone", Stage.PERMISSION, Severity.ERROR, Ref("VirtualMachine", "vm", "lab"),
        params={"resource": "a.b/gpu"},
    )  # fmt: skip
    assert render(gone).message.startswith("lab/vm is stopped and asks for a.b/gpu")


def test_a_choice_is_joined_with_or():
    issue = Issue(
        "UnknownField", Stage.MANIFEST, Severity.ERROR, params={"field": "x", "near": ("a", "b")}
    )
    assert render(issue).message.endswith("did you mean a or b?")
