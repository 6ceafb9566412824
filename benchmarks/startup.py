"""How long the command line takes: `python -m benchmarks.startup`. Wall time of whole processes."""

import subprocess
import sys
import time
from pathlib import Path

PASSWAY = str(Path(sys.executable).with_name("passway"))
RUNS = 20


def wall_ms(arguments: list[str]) -> list[float]:
    samples = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run([PASSWAY, *arguments], check=False, capture_output=True, timeout=60)
        samples.append((time.perf_counter() - start) * 1e3)
    return sorted(samples)


def main() -> None:
    for arguments in (
        ["--help"],
        ["check", "--help"],
        ["get", "devices", "--demo"],
        ["check", "-f", "examples/three-reasons.yaml", "--demo"],
    ):
        samples = wall_ms(arguments)
        print(
            f"passway {' '.join(arguments)}: median {samples[RUNS // 2]:.0f} ms, "
            f"best {samples[0]:.0f} ms, worst {samples[-1]:.0f} ms"
        )


if __name__ == "__main__":
    main()
