"""A component that is stopped is gone: what it held is free for the next one."""

import signal
import socket
import sys

import pytest
from tests.controlplane.plane import free_port
from tests.controlplane.process import Component

# The more memory a process has, the longer its end takes.
LISTENING = """
import socket, sys, time
held = bytearray(400_000_000)
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("paused", [False, True])
def test_the_port_of_a_stopped_component_is_free_at_once(tmp_path, paused):
    port = free_port()
    component = Component("c", [sys.executable, "-c", LISTENING, str(port)], tmp_path)
    component.wait_until(lambda: "listening" in component.tail())
    if paused:
        component.signal(signal.SIGSTOP)
    component.stop()
    component.stop()
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_one_that_was_just_begun_is_stopped_too(tmp_path):
    Component("c", ["sleep", "60"], tmp_path).stop()
