"""The wheel has all that an installed Passway needs, and the bare install is enough for it."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER = ("fastapi", "pydantic", "uvicorn", "starlette", "kopf", "sqlalchemy")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (built,) = folder.glob("passway-*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_has_code_data_and_commands(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (entry_points,) = [name for name in names if name.endswith("entry_points.txt")]
        commands = archive.read(entry_points).decode()
    assert {
        "passway/py.typed",
        "passway/manifest/fields.json",
        "passway/sample/examples/three-reasons.yaml",
        "passway/store/migrations/env.py",
        "passway/store/migrations/versions/0001_audit.py",
        "passway/sample/examples/three-reasons-fixed.yaml",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "tools/"))]
    assert "passway = passway.main:main" in commands
    assert "kubectl-passway = passway.main:main" in commands


@pytest.mark.slow
def test_the_installed_command_line_needs_no_server_library(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = (
        "import sys\n"
        f"for name in {SERVER!r}: sys.modules[name] = None\n"
        "import passway\n"
        f"assert passway.__file__.startswith({str(tmp_path)!r})\n"
        "from passway.main import main\n"
        "sys.argv = ['passway', 'get', 'devices', '--demo']\n"
        "main()\n"
    )
    # The copy is not the code whose coverage is measured.
    environment = {key: value for key, value in os.environ.items() if "COVERAGE" not in key}
    done = subprocess.run(
        [sys.executable, "-c", code], env={**environment, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "nvidia.com/GA102GL_A10" in done.stdout


def test_locks_carry_hashes_and_no_addresses():
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        text = lock.read_text(encoding="utf-8")
        pins = [line for line in text.splitlines() if "==" in line and not line.startswith(" ")]
        assert pins
        assert text.count("--hash=sha256:") >= len(pins)
        assert "://" not in text
        assert "index" not in text


def test_every_dependency_that_is_declared_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lock = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8").lower()
    declared = [
        *project["project"]["dependencies"],
        *project["project"]["optional-dependencies"]["server"],
        *project["dependency-groups"]["dev"],
    ]
    for requirement in declared:
        name = requirement.split(">")[0].split("[")[0].strip().lower()
        assert f"\n{name}==" in f"\n{lock}" or f"\n{name}[" in lock, requirement
