"""Fetching libvirt's schema: where it is looked for, and what apt-get is asked."""

import stat

import pytest
from tools import libvirt_schema as tool

# Downloads only with lists that an update has made; logs what it is asked.
APT = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *update) mkdir -p lists && touch lists/new ;;
  *download*libvirt0) [ -e lists/new ] && touch libvirt0_1_all.deb ;;
  *) exit 100 ;;
esac
"""
DPKG = """#!/bin/sh
mkdir -p "$3/usr/share/libvirt/schemas" && touch "$3/usr/share/libvirt/schemas/{file}"
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with the two commands and without the schema; gives the log of the first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(tool, "SYSTEM", tmp_path / "usr/share/libvirt/schemas")
    (tmp_path / "bin").mkdir()
    install(tmp_path, "apt-get", APT.format(log=tmp_path / "log"))
    install(tmp_path, "dpkg-deb", DPKG.format(file="domain.rng"))
    return tmp_path / "log"


def install(place, name, text):
    path = place / "bin" / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_it_comes_from_the_package_with_lists_of_its_own_if_need_be(machine, capsys):
    assert tool.folder() is None
    tool.main()
    assert tool.folder() == tool.cache()
    assert [entry.name for entry in tool.cache().parent.iterdir()] == ["libvirt-schema"]
    assert f"libvirt schema: {tool.cache()}" in capsys.readouterr().err
    asked = [line.split() for line in machine.read_text().splitlines()]
    assert [words[-1] for words in asked] == [
        "libvirt-common", "libvirt0", "update", "libvirt-common", "libvirt0",
    ]  # fmt: skip
    assert not any("Dir::State::Lists" in " ".join(words) for words in asked[:2])
    assert all("Dir::State::Lists" in " ".join(words) for words in asked[2:])


def test_what_is_there_is_not_fetched_again(machine):
    tool.cache().mkdir(parents=True)
    (tool.cache() / tool.DOMAIN).touch()
    tool.main()
    assert not machine.exists()
    tool.SYSTEM.mkdir(parents=True)
    (tool.SYSTEM / tool.DOMAIN).touch()
    assert tool.folder() == tool.SYSTEM


def test_a_package_without_it_gives_none(machine, tmp_path, capsys):
    install(tmp_path, "dpkg-deb", DPKG.format(file="other.rng"))
    tool.main()
    assert tool.folder() is None
    assert tool.MISSING in capsys.readouterr().err


def test_where_there_are_no_packages_it_says_so(machine, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    tool.main()
    assert tool.MISSING in capsys.readouterr().err
    assert not machine.exists()


def test_the_cache_is_the_users(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert tool.cache() == tmp_path / ".cache/passway/libvirt-schema"
