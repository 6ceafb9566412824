"""The token file: what it may hold, what is refused, and that no message shows a token."""

import pytest

from passway.api import token_file
from passway.api.rights import Role
from passway.api.token_file import parse_tokens, read_tokens, readable_by_others
from passway.model.errors import InvalidInput

SECRET = "s3cr3t-s3cr3t-s3cr3t"
GOOD = f"""
- token: {SECRET}
  user: alice
  role: user
  namespaces: [ml, web]
- {{token: {SECRET}2, user: root, role: cluster.admin}}
"""


def test_entries_become_credentials():
    alice, root = parse_tokens(GOOD.encode(), "t")
    assert (alice.identity.user, alice.identity.role) == ("alice", Role.USER)
    assert alice.identity.namespaces == {"ml", "web"}
    assert root.identity.role is Role.ADMIN
    assert parse_tokens(b'[{"token": "0123456789abcdef", "user": "v", "role": "viewer"}]', "t")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is a list of entries"),
        ("{}", "is a list of entries"),
        ("[]", "is a list of entries"),
        ("a: [", "neither YAML nor JSON"),
        ("[" * 1200, "neither YAML nor JSON"),
        (f"[{SECRET}]", "entry 1: Expected `object`"),
        (f"[{{token: {SECRET}, user: a}}]", "missing required field `role`"),
        (f"[{{token: {SECRET}, user: a, role: {SECRET}}}]", "role is one of viewer, user"),
        (f"[{{token: {SECRET}, user: a, role: user, more: 1}}]", "unknown field `more`"),
        ("[{token: 1, user: a, role: user}]", "Expected `str`"),
        ("[{token: short-s3cr3t, user: a, role: user}]", "16 to 512"),
        (f"[{{token: {SECRET}, user: '', role: user}}]", "user must be"),
        (f'[{{token: {SECRET}, user: "a\\nb", role: user}}]', "user must be"),
        (f"[{{token: {SECRET}, user: a, role: user, namespaces: [A_B]}}]", "DNS label"),
        (f"[{{token: {SECRET}, user: a, role: user, namespaces: {['a'] * 1001}}}]", "at most"),
        (f"[{', '.join([f'{{token: {SECRET}, user: a, role: user}}'] * 2)}]", "stands twice"),
        ("[" + "1," * 10_001 + "]", "at most 10000"),
    ],
)
def test_a_bad_file_is_refused_without_showing_a_token(text, words):
    with pytest.raises(InvalidInput, match=r"^t: ") as refused:
        parse_tokens(text.encode(), "t")
    assert words in str(refused.value)
    assert "s3cr3t" not in str(refused.value)


def test_a_file_is_read_within_limits(tmp_path, monkeypatch):
    file = tmp_path / "tokens"
    file.write_text(GOOD)
    assert len(read_tokens(file)) == 2
    file.chmod(0o644)
    assert readable_by_others(file)
    file.chmod(0o600)
    assert not readable_by_others(file)
    monkeypatch.setattr(token_file, "MAX_BYTES", 10)
    with pytest.raises(InvalidInput, match="at most 10 bytes"):
        read_tokens(file)
    with pytest.raises(InvalidInput, match="No such file"):
        read_tokens(tmp_path / "none")
