"""Reading YAML and JSON: values, limits, faults and their places."""

import json
import math
import time

import pytest
import yaml

import passway.manifest.text as module
from passway.manifest.text import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_FAULTS,
    MAX_VALUES,
    read,
)
from passway.model.reasons import render


@pytest.fixture(params=["c", "python"])
def any_loader(request, monkeypatch):
    """Both of PyYAML's scanners: the C one may be missing on a machine."""
    loader = yaml.CSafeLoader if request.param == "c" else yaml.SafeLoader
    monkeypatch.setattr(module, "_LOADER", loader)
    return request.param


def plain(text):
    documents = read(text, "f")
    assert documents.faults == ()
    return [node.plain() for node in documents.nodes]


def faults(text):
    """(reason, line, column, path) of each fault; every one must be tellable."""
    found = read(text, "f").faults
    for issue in found:
        assert "{" not in render(issue).message.replace("{{", "").replace("'{'", "")
    return [
        (issue.reason, issue.position.line, issue.position.column, issue.path) for issue in found
    ]


def problem(text):
    (issue,) = read(text, "f").faults
    return issue.params["problem"]


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x", "x"), ("''", ""), ("'1'", "1"), ('"yes"', "yes"), ("|\n  a\n  b\n", "a\nb\n"),
        ("yes", True), ("On", True), ("y", True), ("TRUE", True), ("no", False), ("N", False),
        ("off", False), ("yEs", "yEs"), ("Nope", "Nope"), ("0", 0), ("-0", 0), ("+12", 12),
        ("-7", -7), ("010", 8), ("0o17", 15), ("0x1F", 31), ("0b101", 5), ("1_000", 1000),
        ("08", 8.0), ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e3", 1000.0), ("-1.5E-2", -0.015),
        (".inf", math.inf), ("+.INF", math.inf), ("-.Inf", -math.inf), ("1e999", "1e999"),
        ("1" * 20, int("1" * 20)), ("1" * 5000, "1" * 5000), ("1.2.3", "1.2.3"),
        ("10:30", "10:30"), ("190:20:30.15", "190:20:30.15"), ("2026-06-12", "2026-06-12"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14t21:59:43.10-05:00"), (".x", ".x"),
        ("[n]", [False]), ("16Gi", "16Gi"), ("<<", "<<"), ("! 12", "12"), ("!!str 12", "12"),
        ("!!int 12", 12), ("!!float 12", 12), ("!!bool yes", True), ("!!null ''", None),
        ("!!map {}", {}), ("!!seq []", []), ("!!timestamp 2026-06-12", "2026-06-12"),
    ],
)  # fmt: skip
def test_scalars_mean_what_kubectl_reads(text, value):
    found = plain(f"k: {text}")[0]["k"]
    assert found == value
    assert type(found) is type(value)


def test_nan_stays_a_float():
    assert math.isnan(plain("k: .NaN")[0]["k"])
    assert plain("k:")[0] == {"k": None}
    assert plain("k: ~")[0] == {"k": None}


def test_every_key_becomes_text():
    keys = list(plain("1: a\nyes: b\nno: c\n1.5: d\n0x10: e\n'2': f\n.inf: g\n3.0: h\n")[0])
    assert keys == ["1", "true", "false", "1.5", "16", "2", ".inf", "3"]


@pytest.mark.usefixtures("any_loader")
def test_keys_that_cannot_be_text_are_faults():
    assert faults("ok: 1\nnull: d\n? [q]\n: z\n") == [
        ("InvalidValue", 2, 1, ""),
        ("InvalidValue", 3, 3, ""),
    ]
    assert [node.plain() for node in read("ok: 1\nnull: d\n", "f").nodes] == [{"ok": 1}]


@pytest.mark.usefixtures("any_loader")
def test_a_duplicate_key_names_the_first():
    documents = read("spec:\n  a: 1\n  b: 2\n  a: {x: [1]}\n", "f")
    (issue,) = documents.faults
    assert (issue.reason, dict(issue.params), str(issue.position), issue.path) == (
        "DuplicateKey", {"field": "a", "first": 2}, "f:4:3", "spec.a",
    )  # fmt: skip
    assert documents.nodes[0].plain() == {"spec": {"a": 1, "b": 2}}


@pytest.mark.usefixtures("any_loader")
def test_documents_are_read_one_by_one_and_empty_ones_skipped():
    assert plain("") == []
    assert plain("# nothing\n") == []
    assert plain("---\n---\na: 1\n...\n---\n# x\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]
    assert plain("[1]") == [[1]]
    assert plain("word") == ["word"]


@pytest.mark.usefixtures("any_loader")
def test_documents_before_a_syntax_error_are_kept():
    documents = read("a: 1\n---\nb: [\n", "f")
    assert [node.plain() for node in documents.nodes] == [{"a": 1}]
    assert [issue.reason for issue in documents.faults] == ["InvalidSyntax"]


@pytest.mark.usefixtures("any_loader")
def test_aliases_and_merge_keys():
    text = "base: &b {p: 1, q: 2}\nother: *b\nm: {<<: *b, q: 3}\no: {<<: [*b, {q: 9, z: 1}]}\n"
    assert plain(text) == [
        {
            "base": {"p": 1, "q": 2},
            "other": {"p": 1, "q": 2},
            "m": {"q": 3, "p": 1},
            "o": {"p": 1, "q": 2, "z": 1},
        }
    ]
    assert plain("a: &x 1\nb: *x\n&k key: v\n") == [{"a": 1, "b": 1, "key": "v"}]
    assert plain("'<<': {a: 1}") == [{"<<": {"a": 1}}]
    assert plain("[<<]") == [["<<"]]


@pytest.mark.usefixtures("any_loader")
def test_a_merge_of_something_else_is_a_fault():
    assert faults("m: {<<: [1, {a: 1}]}") == [("InvalidValue", 1, 10, "m")]


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize("text", ["a: *x\n", "a: &x [*x]\n", "a: &x 1\n---\nb: *x\n"])
def test_an_alias_needs_a_complete_anchor(text):
    assert "names no anchor" in problem(text)


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("a: !!int x", "!!int"), ("a: !!bool 1", "!!bool"), ("a: !secret x", "!secret"),
        ("a: !!set {x: null}", "!!set"), ("a: !!map []", "!!map"), ("a: !!binary aGk=", "!!binary"),
    ],
)  # fmt: skip
def test_other_tags_are_faults(text, tag):
    assert problem(text) == f"the tag {tag} cannot stand here; leave it out"
    assert faults(text) == [("InvalidValue", 1, 4, "a")]


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a:\n\tb: 2\n", 2, "a tab stands where only spaces may"),
        ("a: 1\nb:\n  c: d: e\n", 3, 'a ": " stands where no field can begin'),
        ("a: @x\n", 1, "'@' cannot begin a value; quote it"),
        ("a: [1, 2\nb: 3\n", 2, "a bracket is not closed"),
        ("- a\nb: c\n", 2, "the indentation does not fit"),
        ("a: 'b\n", 2, "the quote that opens here is not closed"),
        ("a: 1\nword\nb: 2\n", 3, "a line without a colon"),
        ("a: [{% if .x %}\n", 1, "looks like a template"),
        ("[1] 2\n", 1, "text follows after the end"),
        ("%YAML 3.0\n--- a\n", 1, "found incompatible YAML document"),
    ],
)
def test_syntax_errors_say_what_and_where(text, line, words):
    (issue,) = read(text, "f").faults
    assert issue.reason == "InvalidSyntax"
    assert words in issue.params["problem"]
    assert abs(issue.position.line - line) <= 1


def test_an_unrendered_template_is_recognised():
    assert "looks like a template" in problem("name: {{ .Values.name }}\n")


def test_errors_that_the_python_scanner_lets_through(monkeypatch):
    monkeypatch.setattr(module, "_LOADER", yaml.SafeLoader)
    assert faults('a: "\\UFFFFFFFF"') == [("InvalidSyntax", 1, 1, "a")]
    assert problem('a: "\\UFFFFFFFF"') == "cannot be read as YAML"


@pytest.mark.usefixtures("any_loader")
def test_half_surrogate_pairs_never_get_into_the_tree():
    assert plain('{"a": "\\ud83d\\ude00", "b": "\\ud800"}') == [{"a": "😀", "b": "\ufffd"}]
    for text in ('a: "\\ud83d\\ude00"', 'a: "\\ud800"'):
        for node in read(text, "f").nodes:
            node.find("a").plain().encode()


@pytest.mark.parametrize(
    "text",
    [
        "a: ü\n".encode(), b"\xef\xbb\xbfa: \xc3\xbc\n", "\ufeffa: ü\n",
        "a: ü\n".encode("utf-16"), b"\xfe\xff" + "a: ü\n".encode("utf-16-be"),
        "a: ü\n".encode("utf-32"), b"\x00\x00\xfe\xff" + "a: ü\n".encode("utf-32-be"),
    ],
)  # fmt: skip
def test_encodings_with_a_byte_order_mark(text):
    assert plain(text) == [{"a": "ü"}]
    assert str(read(text, "f").nodes[0].locate("a")) == "f:1:1"


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        (b"a: 1\nb: \xff\n", 2, 4, "byte 0xff"), (b"\xff\xfea\x00\x00\xd8b\x00", 1, 2, "byte 0x00"),
        (b"a\x00b", 1, 2, "character U+0000"), ("a: 1\n\0", 2, 1, "character U+0000"),
        ("a: \ud800", 1, 4, "character U+D800"), ("a: 1\nb: \x07", 2, 4, "character U+0007"),
        (b"\x7fELF\x02\x01", 1, 1, "character U+007F"), (b"\x89PNG\r\n", 1, 1, "byte 0x89"),
    ],
)  # fmt: skip
def test_what_is_not_text(text, line, column, what):
    assert faults(text) == [("NotText", line, column, "")]
    assert problem(text) == what


@pytest.mark.parametrize("indent", ["\t", 2, None])
def test_json_is_read_with_positions(indent):
    value = {"a": {"b/c": [1, -2.5, True, None, "x\ty\u2028\x7f"]}, "e": [], "f": {}}
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    (node,) = read(text, "f").nodes
    assert node.plain() == value
    place = node.locate('a["b/c"]')
    line = text.split("\n")[place.line - 1]
    assert line[place.column - 1 :].startswith('"b/c"')


def test_several_json_objects_may_follow_one_another():
    assert plain('{"a": 1}\n{"b": 2}\r\n[3]\n') == [{"a": 1}, {"b": 2}, [3]]


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1}", {"a": 1}), ('{"a": 1,}', {"a": 1}), ("[1, 2] # x", [1, 2]), ("{1: 2}", {"1": 2}),
        ("['x']", ["x"]), ('{"a": yes}', {"a": True}), ('{"a" : [b]}', {"a": ["b"]}),
        ('[{"a": 1}, "x": 2]', [{"a": 1}, {"x": 2}]), ("[01]", [1]),
        ("[[1], true x]", [[1], "true x"]),
        ('{"a": 1, true: 2}', {"a": 1, "true": 2}),
    ],
)  # fmt: skip
def test_what_only_looks_like_json_is_read_as_yaml(text, value):
    assert plain(text) == [value]


@pytest.mark.usefixtures("any_loader")
@pytest.mark.parametrize(
    "text", ['{"a": 1', '{"a" 1 2}', "[1]]", "[1] x", "[1] true", '["a": }', '{"a": ]}']
)
def test_broken_json_is_a_syntax_error(text):
    assert [reason for reason, *_ in faults(text)] == ["InvalidSyntax"]


def test_duplicate_keys_in_json():
    assert faults('{"a": 1,\n "a": 2}') == [("DuplicateKey", 2, 2, "a")]


def bomb(levels=30):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


HOSTILE = {
    "alias bomb": (bomb(), "TooManyValues"),
    "alias chain": (
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 80)),
        "NestingTooDeep",
    ),
    "brackets": ("[" * 10_000, "NestingTooDeep"),
    "braces": ('{"a":' * 10_000, "NestingTooDeep"),
    "dashes": ("- " * 10_000, "NestingTooDeep"),
    "questions": ("? " * 10_000, "NestingTooDeep"),
    "items": ("- 1\n" * (MAX_VALUES + 1), "TooManyValues"),
    "json items": (json.dumps([1] * MAX_VALUES), "TooManyValues"),
    "documents": ("---\n" * (MAX_DOCUMENTS + 2), "TooManyDocuments"),
    "json documents": ("{}" * (MAX_DOCUMENTS + 2), "TooManyDocuments"),
    "megabytes": ("x" * (3 * 1024 * 1024), "InputTooLarge"),
    "binary megabytes": (b"\0" * (MAX_BYTES + 1), "InputTooLarge"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_end_soon(name):
    text, reason = HOSTILE[name]
    start = time.perf_counter()
    (issue,) = read(text, "f").faults
    assert issue.reason == reason
    assert render(issue).message
    assert time.perf_counter() - start < 15


def test_very_many_faults_are_given_up():
    assert len(read("a: 1\n" * 5000, "f").faults) == MAX_FAULTS


def test_nesting_up_to_the_limit_is_read():
    assert plain("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert faults("- " * (MAX_DEPTH + 1))[0][0] == "NestingTooDeep"
