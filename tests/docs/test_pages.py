"""The documentation is true: its commands print what it says, its pages follow the code."""

import re
from pathlib import Path

import pytest
from tools import console, reasons, releases, schema

from passway.model.reasons import REASONS
from passway.service.documents import PUBLISHED

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
SOURCES = sorted((ROOT / "src" / "passway").rglob("*.py"))


@pytest.mark.docs
@pytest.mark.parametrize("name", ["README.md", "docs/tour.md"])
def test_commands_print_what_the_page_says(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert console.commands(text)
    assert console.rewritten(text) == text, f"run: python -m tools.console {name}"


def test_only_passway_is_run():
    with pytest.raises(ValueError, match="only passway"):
        console.run("rm -rf x")


def test_the_page_of_reasons_is_the_registry():
    assert reasons.PAGE.read_text(encoding="utf-8") == reasons.text()


def test_the_page_of_releases_is_the_tables():
    assert releases.PAGE.read_text(encoding="utf-8") == releases.text()


@pytest.mark.parametrize("document", PUBLISHED)
def test_schemas_are_those_of_the_documents(document):
    path = schema.FOLDER / f"{schema.name_of(document)}.json"
    assert path.read_text(encoding="utf-8") == schema.text(document)


def test_every_reason_of_the_registry_is_given_somewhere():
    text = "".join(
        path.read_text(encoding="utf-8") for path in SOURCES if path.name != "reasons.py"
    )
    used = set(re.findall(r'"([A-Z][A-Za-z]+)"', text))
    assert sorted(set(REASONS) - used) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
