"""Builds kubeconfigs from small pieces, the certificates for them, and what a test runs in."""

import base64
import json
import os
import shutil
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import trustme

from passway.kube.config import Surroundings

SERVER = "https://10.1.2.3:6443"
TOKEN = "s3cr3t-token-0123456789"


@cache
def authority() -> trustme.CA:
    """One CA for all tests of a run."""
    return trustme.CA(key_type=trustme.KeyType.ECDSA)


@cache
def ca_pem() -> bytes:
    return authority().cert_pem.bytes()


@cache
def client_pems() -> tuple[bytes, bytes]:
    """A client certificate and its key."""
    leaf = authority().issue_cert("alice@example.dev", key_type=trustme.KeyType.ECDSA)
    return b"".join(one.bytes() for one in leaf.cert_chain_pems), leaf.private_key_pem.bytes()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def cluster(name="lab", **fields):
    return {"name": name, "cluster": {"server": SERVER} | _named(fields)}


def user(name="alice", **fields):
    return {"name": name, "user": _named(fields)}


def context(name="lab", cluster="lab", user="alice", **fields):
    return {"name": name, "context": {"cluster": cluster, "user": user} | _named(fields)}


def config(clusters=None, users=None, contexts=None, current="lab", **more):
    """A whole file; what is left out is the usual."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": current,
        "clusters": [cluster()] if clusters is None else clusters,
        "users": [user(token=TOKEN)] if users is None else users,
        "contexts": [context()] if contexts is None else contexts,
    } | more


def _named(fields):
    """client_certificate_data -> client-certificate-data; names with capitals stay."""
    return {name.rstrip("_").replace("_", "-"): value for name, value in fields.items()}


def write(folder: Path, content, name="config") -> str:
    """A file with that content: JSON, which is YAML too, or a text as it is."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def around(folder: Path, **more) -> Surroundings:
    """No environment but PATH, nobody at the terminal."""
    environ = {"PATH": os.environ["PATH"]} | more.pop("environ", {})
    plain = Surroundings(environ, str(folder / "home"), str(folder), str(folder / "account"))
    return replace(plain, **more)


def plugin(folder: Path, body: str, name="plugin") -> str:
    """An executable Python script that `body` is the content of."""
    path = folder / name
    path.write_text(f"#!{sys.executable} -IS\n{body}\n")
    path.chmod(0o755)
    return str(path)


def kubectl() -> str:
    """The kubectl to compare with: $PASSWAY_KUBECTL, that of this environment, or any in PATH."""
    beside = Path(sys.executable).with_name("kubectl")
    found = os.environ.get("PASSWAY_KUBECTL") or (str(beside) if beside.exists() else None)
    found = found or shutil.which("kubectl")
    if found is not None:
        return found
    message = "no kubectl: set PASSWAY_KUBECTL, or install the development dependencies"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
