"""Text for terminals: what may reach one, ages, places and message form."""

import pytest

from passway.cli import words
from passway.cli.table import Column, Table, columns_text
from passway.service.documents import IssueDocument, MachineRef, OverheadPart


def issue(**fields) -> IssueDocument:
    given = {
        "reason": "Broken", "stage": "admission", "severity": "error", "message": "it is",
        "remedy": "mend it", "docs": "",
    }  # fmt: skip
    return IssueDocument(**{**given, **fields})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode", "plain ünïcode"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
    ],
)
def test_controls_are_shown_as_escapes(text, shown):
    assert words.visible(text) == shown


def test_lines_may_stay_lines():
    assert words.visible_lines("a\n\tb\x1b") == "a\n\tb\\x1b"


def test_json_escapes_what_json_would_let_through():
    assert words.json_safe('"\x7f\u202e"\n') == '"\\u007f\\u202e"\n'


@pytest.mark.parametrize(
    ("seconds", "age"),
    [
        (-2, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (201, "3m21s"),
        (600, "10m"), (10_799, "179m"), (10_800, "3h"), (18_120, "5h2m"), (28_800, "8h"),
        (172_799, "47h"), (172_800, "2d"), (180_000, "2d2h"), (691_200, "8d"), (3_542_400, "41d"),
        (63_072_000, "2y"), (63_936_000, "2y10d"), (252_288_000, "8y"),
    ],
)  # fmt: skip
def test_ages_are_kubectl_s(seconds, age):
    assert words.human(seconds) == age


@pytest.mark.parametrize(
    ("created", "at", "age"),
    [
        ("2026-05-02T08:00:00Z", "2026-06-12T09:30:00Z", "41d"),
        (None, "2026-06-12T09:30:00Z", "<unknown>"),
        ("2026-05-02T08:00:00Z", None, "<unknown>"),
        ("yesterday", "2026-06-12T09:30:00Z", "<unknown>"),
        ("2026-05-02T08:00:00", "2026-06-12T09:30:00Z", "<unknown>"),
    ],
)
def test_an_age_needs_two_times(created, at, age):
    assert words.age(created, at) == age


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"file": "vm.yaml", "line": 14, "column": 9, "path": "spec"}, "vm.yaml:14:9"),
        ({"file": "vm.yaml"}, "vm.yaml"),
        ({"path": "spec.x"}, "spec.x"),
        ({"subject": MachineRef(kind="VirtualMachine", name="a", namespace="b")},
         "VirtualMachine b/a"),
        ({"subject": MachineRef(kind="Node", name="a")}, "Node a"),
        ({"nodes": tuple("abcdefg")}, "a,b,c,d,e +2"),
        ({}, ""),
    ],
)  # fmt: skip
def test_a_finding_says_where_it_is_as_well_as_it_can(fields, place):
    assert words.place(issue(**fields)) == place


def test_a_message_has_place_reason_words_and_hint():
    found = issue(file="vm\x1b.yaml", line=1, column=2)
    assert _plain(words.message(found)) == ("error: vm\\x1b.yaml:1:2: Broken: it is\nhint: mend it")


def test_a_message_without_place_or_remedy_is_one_line():
    assert _plain(words.message(issue(remedy="", severity="unknown"))) == "unknown: Broken: it is"


OVERHEAD = (OverheadPart(part="vCPUs", bytes=16 * 2**20), OverheadPart(part="b\x1b", bytes=2**30))
NOTE = "note: KubeVirt adds 1040Mi: b\\x1b 1Gi + vCPUs 16Mi"


def test_an_overhead_stands_between_the_message_and_the_hint():
    assert _plain(words.message(issue(overhead=OVERHEAD))) == (
        f"error: Broken: it is\n{NOTE}\nhint: mend it"
    )


def test_the_same_overhead_is_told_once():
    other = OVERHEAD[:1]
    found = [issue(overhead=parts, remedy="") for parts in (OVERHEAD, (), OVERHEAD, other)]
    assert _plain(words.messages(found)).splitlines() == [
        "error: Broken: it is", NOTE, *["error: Broken: it is"] * 3,
        "note: KubeVirt adds 16Mi: vCPUs 16Mi",
    ]  # fmt: skip
    assert words.messages([]) == ""


def _plain(text: str) -> str:
    import click

    return click.unstyle(text)


def test_lists_are_cut():
    assert words.listed([]) == "<none>"
    assert words.listed(["a", "b", "c"]) == "a,b,c"
    assert words.listed(["a", "b", "c"], 2) == "a,b +1"
    assert words.listed([], 2) == "<none>"


def test_a_table_has_a_cell_in_every_column():
    table = Table(
        (Column("NAME", lambda row: row[0]), Column("SIZE", lambda row: row[1]),
         Column("MORE", lambda row: "x", wide=True)),
        [("long-name", 0), ("\x1b", None), ("", 12)],
    )  # fmt: skip
    assert table.text() == ("NAME        SIZE\nlong-name   0\n\\x1b        <none>\n<none>      12")
    assert table.text(wide=True).splitlines()[0].split() == ["NAME", "SIZE", "MORE"]
    assert table.text(headers=False).splitlines()[0].split() == ["long-name", "0"]


def test_no_rows_are_no_text():
    assert columns_text([]) == ""
