"""Run seeds by hand: `python -m tests.agreement [--first 0] [--seeds 150] [--show SEED]`."""

import argparse
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from tests.agreement.bench import Bench, Table
from tests.agreement.generate import generate
from tests.agreement.shrink import shrink
from tests.controlplane.kubevirts import KubeVirt
from tests.controlplane.plane import Plane


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.agreement")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=150, help="how many")
    parser.add_argument("--show", type=int, metavar="SEED", help="print a scenario and end")
    parser.add_argument("--no-shrink", action="store_true", help="do not look for a smaller one")
    options = parser.parse_args(arguments)
    if options.show is not None:
        print(generate(options.show).text())
        return 0
    signal.signal(signal.SIGTERM, _interrupt)  # so that the plane ends with it
    table, wrong, races = Table(), [], []
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="passway-agreement-") as folder, ExitStack() as stack:
        plane = stack.enter_context(Plane(Path(folder)))
        kubevirt = KubeVirt(plane)
        kubevirt.start()
        bench = stack.enter_context(Bench(plane, kubevirt))
        for number in range(options.first, options.first + options.seeds):
            result = bench.seed(number)
            table.add(result)
            if result.again:
                races.append(number)
                print(f"seed {number}, once only: {result.again}", flush=True)
            if result.faults:
                wrong.append(number)
                print(f"seed {number} ({result.scenario.theme}): {result.faults}", flush=True)
                if not options.no_shrink:
                    small = shrink(bench, result)
                    print(small.scenario.text(), small.faults, flush=True)
            if table.seeds % 50 == 0:
                told = f"{table.seeds} seeds, {time.monotonic() - start:.0f} s"
                print(f"{told}, {len(wrong)} disagree", file=sys.stderr)
    print(*table.lines(), sep="\n")
    print(f"{table.seeds} seeds from {options.first}: {len(wrong)} disagree {wrong}, "
          f"{len(races)} disagreed once {races}; {time.monotonic() - start:.0f} s")  # fmt: skip
    return 1 if wrong or table.lacking() else 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
