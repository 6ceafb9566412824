"""A real PostgreSQL for the tests: its own data, 127.0.0.1 only, ended by its own process id."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Final

import psycopg
from tools.postgresql import MISSING, folder

LIFE_S: Final = 3600
READY_S: Final = 60
_SETTINGS: Final = (
    "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=50",
    "shared_buffers=16MB", "logging_collector=off",
)  # fmt: skip


class Missing(Exception):
    """The machine has no PostgreSQL."""


class Postgres:
    """A server that can be stopped and started again. A context."""

    def __init__(self) -> None:
        found = folder()
        if found is None:
            raise Missing(MISSING)
        self._programs = found
        self._password = secrets.token_hex(12)
        self._folder = Path(tempfile.mkdtemp(prefix="passway-pg-"))
        self._data = self._folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = 0
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._as: dict[str, object] = {}
        if os.geteuid() == 0:  # it refuses to run as root
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self._folder, user.pw_uid, user.pw_gid)

    def __enter__(self) -> "Postgres":
        secret = self._folder / "password"
        secret.write_text(self._password)
        secret.chmod(0o644)  # the folder is closed to others
        subprocess.run(
            [self._programs / "initdb", "-D", self._data, "-U", "owner", "--no-sync",
             "--auth=scram-sha-256", f"--pwfile={secret}", "--encoding=UTF8", "--locale=C"],
            check=True, capture_output=True, cwd=self._folder, timeout=120, **self._as,
        )  # fmt: skip
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def start(self) -> None:
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["timeout", "--signal=KILL", str(LIFE_S), self._programs / "postgres",
                 "-D", self._data, "-p", str(self.port), *settings],
                cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self._as,
            )  # fmt: skip
        end = time.monotonic() + READY_S
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=2).close()
            except psycopg.OperationalError:
                assert time.monotonic() < end, (self._folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        """At once, as if the power went (what PostgreSQL calls an immediate shutdown)."""
        if self._process is None:
            return
        pid = int((self._data / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGQUIT)
        self._process.wait(READY_S)
        self._process = None

    def url(self, name: str) -> str:
        return f"postgresql://owner:{self._password}@127.0.0.1:{self.port}/{name}"

    def database(self) -> str:
        """The URL of a new database."""
        self._numbers += 1
        name = f"t{self._numbers}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)
