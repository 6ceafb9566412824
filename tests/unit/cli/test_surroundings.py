"""The launcher's files: what they may look like, how much of them is read, and what never is."""

import os

import pytest

from passway.cli import surroundings
from passway.cli.options import Usage
from passway.cli.surroundings import only_one_stdin, read_env, read_metadata, read_network_info
from passway.manifest.text import MAX_BYTES
from passway.model.errors import InvalidInput, TooLarge

FILE = "resourceclaims/mine/gpu/driver-metadata.json"


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "env"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


@pytest.fixture
def base(tmp_path):
    """A metadata folder with one file, and a secret beside it."""
    folder = tmp_path / "base"
    file = folder / FILE
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    (tmp_path / "secret").write_text("secret")
    return folder


# -- variables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("", {}),
        ("# nothing\n\n  \n", {}),
        ("A=1\n# B=2\r\nexport C='x y'\nD=\"a=b\"\nE=\nF=it's\n",
         {"A": "1", "C": "x y", "D": "a=b", "E": "", "F": "it's"}),
        ("\ufeffPCI_RESOURCE_X-Y=0000:65:00.0,\n", {"PCI_RESOURCE_X-Y": "0000:65:00.0,"}),
        ('{"A": "0000:65:00.0", "B": ""}', {"A": "0000:65:00.0", "B": ""}),
        ("A: 0000:65:00.0\nB: 1:4\nC:\nD: 0x10\n",
         {"A": "0000:65:00.0", "B": "1:4", "C": "", "D": "0x10"}),
    ],
)  # fmt: skip
def test_variables_come_as_lines_or_as_a_mapping(written, text, variables):
    assert read_env(written(text)) == variables


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A=1\nB\n", ":2: 'B' is not NAME=VALUE"),
        ("A=1\nA=2\n", ":2: A stands twice"),
        ("A=1\n=2\n", ":2: '=2' is not NAME=VALUE"),
        ("[A, B]", "neither lines NAME=VALUE nor one mapping"),
        ("just words", "neither lines NAME=VALUE nor one mapping"),
        ("A: 1\n---\nB: 2\n", "neither lines NAME=VALUE nor one mapping"),
        ("A: [1]\n", ":1:4: A is not text"),
        ("A: 1\nA: 2\n", "cannot be read"),
        ("{" * 200, "cannot be read"),
        ("a: &a [x]\nb: *c\n", "cannot be read"),
        (b"A=\xff", "not UTF-8 (byte 3)"),
    ],
)
def test_other_texts_are_no_variables(written, text, problem):
    with pytest.raises(InvalidInput) as caught:
        read_env(written(text))
    assert problem in str(caught.value)


def test_files_have_a_largest_size(written):
    name = written("#" * (MAX_BYTES + 1))
    for read in (read_env, read_network_info):
        with pytest.raises(TooLarge, match="more than"):
            read(name)


def test_a_file_that_is_not_there_or_a_folder_is_said(tmp_path):
    for name in (tmp_path / "none", tmp_path):
        for read in (read_env, read_network_info):
            with pytest.raises(InvalidInput):
                read(str(name))


def test_network_info_is_text_whatever_it_holds(written):
    assert read_network_info(written(b"{\xff}")) == "{\ufffd}"


def test_stdin_can_be_read_once():
    only_one_stdin("-", None, "a")
    with pytest.raises(Usage):
        only_one_stdin("vm.yaml", "-", "-")


# -- claim metadata --------------------------------------------------------------------------------


def test_metadata_are_the_files_below_the_folder(base, capsys):
    (base / "resourceclaims/mine/gpu/other").write_bytes(b"\xff")
    assert read_metadata(str(base)) == {FILE: "{}", "resourceclaims/mine/gpu/other": "\ufffd"}
    assert capsys.readouterr().err == ""


def test_the_folder_itself_may_be_a_link(base, tmp_path):
    (tmp_path / "link").symlink_to(base)
    assert read_metadata(str(tmp_path / "link")) == {FILE: "{}"}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("../secret", "a link out of the folder"),
        ("/etc/passwd", "a link out of the folder"),
        ("..", "a link out of the folder"),
        ("resourceclaims", "not a file"),
        ("nowhere", "a link that leads nowhere"),
        ("link-metadata.json", "a link that leads nowhere"),
    ],
)
def test_links_do_not_lead_out_nor_in_circles(base, capsys, target, why):
    (base / "link-metadata.json").symlink_to(target)
    assert read_metadata(str(base)) == {FILE: "{}"}
    assert f"link-metadata.json: left out: {why}" in capsys.readouterr().err


def test_a_link_to_a_file_inside_is_followed(base):
    (base / "resourceclaims/mine/gpu/again-metadata.json").symlink_to("driver-metadata.json")
    assert read_metadata(str(base))["resourceclaims/mine/gpu/again-metadata.json"] == "{}"


def test_pipes_are_left_out_at_once(base, capsys):
    os.mkfifo(base / "pipe")
    assert read_metadata(str(base)) == {FILE: "{}"}
    assert "pipe: left out: not a file" in capsys.readouterr().err


def test_folders_are_read_a_few_levels_deep(base, capsys):
    (base / "resourceclaims/a/b/c/d").mkdir(parents=True)
    (base / "resourceclaims/a/b/c/file").write_text("x")
    assert read_metadata(str(base)) == {FILE: "{}"}
    assert "a/b/c: left out: folders are read 4 levels deep" in capsys.readouterr().err


def test_many_and_large_files_are_refused(base, monkeypatch):
    monkeypatch.setattr(surroundings, "MAX_FILES", 5)
    (base / "large").write_bytes(b"x" * (surroundings.MAX_FILE_BYTES + 1))
    with pytest.raises(TooLarge, match="bytes a file"):
        read_metadata(str(base))
    (base / "large").write_bytes(b"x" * 10)
    monkeypatch.setattr(surroundings, "MAX_TOTAL_BYTES", 10)
    with pytest.raises(TooLarge, match="in all"):
        read_metadata(str(base))
    (base / "one-more").write_text("")
    with pytest.raises(TooLarge, match="more than 5 files"):
        read_metadata(str(base))


def test_a_folder_without_claims_is_a_warning(tmp_path, capsys):
    assert read_metadata(str(tmp_path)) == {}
    assert "resourceclaimtemplates" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["none", "file", "a\0b"])
def test_what_is_no_folder_is_said(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput):
        read_metadata(f"{tmp_path}/{name}")
