"""The demo's child process when it does not behave."""

import subprocess
import sys

import pytest

from passway.cli import demo
from passway.model.errors import Unavailable


def child(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_the_address_is_taken_from_the_line_that_says_it():
    started = child("print('warming up'); print('serving on http://x:1'); print('more')")
    try:
        assert demo._ready(started, started.stdout) == "http://x:1"
    finally:
        demo._stop(started)


def test_a_service_that_never_listens_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(demo, "START_S", 0.2)
    started = child("import time; time.sleep(60)")
    with started, pytest.raises(Unavailable, match="did not start"):
        demo._ready(started, started.stdout)


def test_a_service_that_ends_at_once_is_told():
    started = child("raise SystemExit(3)")
    with started, pytest.raises(Unavailable, match="exit code 3"):
        demo._ready(started, started.stdout)


def test_a_service_that_does_not_stop_is_killed(monkeypatch):
    monkeypatch.setattr(demo, "STOP_S", 0.2)
    started = child(
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('serving on x', flush=True); time.sleep(60)"
    )
    with started:
        demo._ready(started, started.stdout)
        demo._stop(started)
        assert started.returncode == -9


def test_a_service_that_dies_later_is_told():
    with child("pass") as started:
        demo._wait(started)
    with child("raise SystemExit(5)") as started, pytest.raises(Unavailable, match="by itself"):
        demo._wait(started)


def test_an_interruption_ends_the_wait():
    class Interrupted:
        def wait(self):
            raise KeyboardInterrupt

    demo._wait(Interrupted())
