"""Start the bench by hand: `python -m tests.controlplane up [--kubevirt]`.

up      starts a plane, prints the kubeconfig and serves until Ctrl-C or `down`
load    the same with nodes and pods on it, of API server and etcd alone; made once, then kept
down    ends the plane that `up` or `load` started; of several, the one of --pid
build   builds both executables and says where they lie
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.controlplane import load
from tests.controlplane.build import Missing, cache, programs
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane
from tests.controlplane.process import Died

OWN = b"tests.controlplane"
"""What the command line of a plane that was started here has in it."""
END_S = 30


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, prog="python -m tests.controlplane",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("command", choices=("up", "load", "down", "build"))
    parser.add_argument("--kubevirt", action="store_true", help="with virt-api and virt-controller")
    parser.add_argument("--nodes", type=int, default=load.NODES, help="of `load`")
    parser.add_argument("--pods", type=int, default=load.PODS, help="of `load`")
    parser.add_argument("--pid", type=int, help="of `down`")
    options = parser.parse_args(arguments)
    try:
        if options.command == "build":
            for side in ("kubernetes", "kubevirt"):
                print(" ".join(next(iter(programs(side).commands.values()))[:1]))
            return 0
        if options.command == "down":
            return down(options.pid)
        with tempfile.TemporaryDirectory(prefix="passway-plane-") as folder, _noted():
            start = time.monotonic()
            if options.command == "load":
                plane = load.loaded(Path(folder), options.nodes, options.pods)
            else:
                plane = Plane(Path(folder))
            with plane:
                if options.kubevirt:
                    KubeVirt(plane).start()
                print(f"ready after {time.monotonic() - start:.1f} s", file=sys.stderr)
                return serve(plane)
    except (Missing, Died) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 0


def serve(plane: Plane) -> int:
    """Until somebody interrupts it, or a component dies."""
    print(f"export KUBECONFIG={plane.admin()}", flush=True)
    while True:
        plane.check()
        time.sleep(1)


def down(wanted: int | None) -> int:
    """Ends one plane by its process id, and waits for that."""
    pids = [wanted] if wanted else sorted(_running())
    if len(pids) != 1:
        found = ", ".join(map(str, pids))
        print(f"several run, name one with --pid: {found}" if pids else "none runs")
        return 1 if pids else 0
    if pids[0] not in _running():
        print(f"{pids[0]} is no plane that was started here", file=sys.stderr)
        return 1
    os.kill(pids[0], signal.SIGTERM)
    end = time.monotonic() + END_S
    while pids[0] in _running():
        if time.monotonic() > end:
            print(f"{pids[0]} does not end", file=sys.stderr)
            return 1
        time.sleep(0.1)
    return 0


def _notes() -> Path:
    return cache() / "running"


@contextmanager
def _noted() -> Iterator[None]:
    """This process is found by `down`."""
    signal.signal(signal.SIGTERM, _interrupt)
    _notes().mkdir(parents=True, exist_ok=True)
    note = _notes() / str(os.getpid())
    note.touch()
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def _running() -> set[int]:
    """The process ids of the notes whose process is still one of ours."""
    found = set()
    for note in _notes().glob("*"):
        try:
            command = Path(f"/proc/{note.name}/cmdline").read_bytes()
        except OSError:
            command = b""
        if OWN in command:
            found.add(int(note.name))
        else:
            note.unlink(missing_ok=True)
    return found


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
