"""Start the bench by hand: `python -m tests.controlplane up [--kubevirt]`.

up      starts a plane, prints the kubeconfig and serves until Ctrl-C
build   builds both executables and says where they lie
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from tests.controlplane.build import Missing, programs
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane
from tests.controlplane.process import Died


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, prog="python -m tests.controlplane",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("command", choices=("up", "build"))
    parser.add_argument("--kubevirt", action="store_true", help="with virt-api and virt-controller")
    options = parser.parse_args(arguments)
    try:
        if options.command == "build":
            for side in ("kubernetes", "kubevirt"):
                print(" ".join(next(iter(programs(side).commands.values()))[:1]))
            return 0
        return up(kubevirt=options.kubevirt)
    except (Missing, Died) as error:
        print(error, file=sys.stderr)
        return 1


def up(*, kubevirt: bool) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    with tempfile.TemporaryDirectory(prefix="passway-plane-") as folder:
        start = time.monotonic()
        with Plane(Path(folder)) as plane:
            if kubevirt:
                KubeVirt(plane).start()
            print(f"ready after {time.monotonic() - start:.1f} s", file=sys.stderr)
            print(f"export KUBECONFIG={plane.admin()}", flush=True)
            try:
                while True:
                    plane.check()
                    time.sleep(1)
            except KeyboardInterrupt:
                return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
