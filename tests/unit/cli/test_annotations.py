"""SARIF and GitHub's workflow commands."""

import json

from passway.cli.annotations import github, sarif
from passway.service.documents import IssueDocument, MachineRef, VerdictDocument

VERDICT = VerdictDocument(
    machine=MachineRef(kind="VirtualMachine", name="a", namespace="b"), fits="no", replicas=1,
    places=0, issues=(), stages=(), nodes=(), node_groups=(),
)  # fmt: skip


def issue(**fields) -> IssueDocument:
    given = {
        "reason": "DeviceNotPermitted", "stage": "permission", "severity": "error",
        "message": "no", "remedy": "do", "docs": "", "file": "vm.yaml", "line": 14, "column": 9,
    }  # fmt: skip
    return IssueDocument(**{**given, **fields})


def test_a_github_command_escapes_properties_more_than_data():
    found = issue(file="a,b:c%.yaml", message="50% of\r\nit: a, b")
    assert github([(VERDICT, found)]) == (
        "::error file=a%2Cb%3Ac%25.yaml,line=14,col=9,title=DeviceNotPermitted::"
        "VirtualMachine b/a: 50%25 of%0D%0Ait: a, b%0Ado"
    )


def test_a_github_command_without_a_file_has_only_a_title():
    found = issue(file=None, line=None, column=None, severity="unknown", remedy="")
    assert github([(VERDICT, found)]) == (
        "::warning title=DeviceNotPermitted::VirtualMachine b/a: no"
    )


def test_controls_do_not_pass_github_commands():
    assert "\x1b" not in github([(VERDICT, issue(message="\x1b[1m"))])


def test_sarif_has_rules_results_and_places():
    found = [
        (VERDICT, issue(file="dir/my vm.yaml")),
        (VERDICT, issue(reason="FromTheFuture", severity="unknown", file="<stdin>", remedy="")),
        (VERDICT, issue(severity="warning", line=None, column=None)),
    ]
    log = json.loads(sarif(found))
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["name"] == "passway"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["DeviceNotPermitted", "FromTheFuture"]
    assert rules[0]["shortDescription"]["text"] != "DeviceNotPermitted"
    assert rules[1]["shortDescription"]["text"] == rules[1]["help"]["text"] == "FromTheFuture"
    first, second, third = run["results"]
    assert first["level"] == "error"
    assert first["ruleIndex"] == 0
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "dir/my%20vm.yaml"},
                "region": {"startLine": 14, "startColumn": 9},
            }
        }
    ]
    assert second["level"] == "note"
    assert second["ruleIndex"] == 1
    assert "locations" not in second
    assert "region" not in third["locations"][0]["physicalLocation"]


def test_sarif_without_findings_is_a_clean_run():
    run = json.loads(sarif([]))["runs"][0]
    assert run["results"] == []
    assert run["tool"]["driver"]["rules"] == []
