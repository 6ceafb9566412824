"""Mutation testing of the models of KubeVirt, on a seeded sample: `make mutants [N=400 SEED=1]`.

cosmic-ray makes the mutants; this draws a sample of them, runs the tests of `kubevirt/` on each in
a copy of the tree, and prints what survived. Mutants of type annotations are left out: they end
at import, so they would only flatter the figure.
"""

import argparse
import ast
import json
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.commands.init import _all_work_items
from cosmic_ray.mutating import apply_mutation
from cosmic_ray.plugins import get_operator
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).parent.parent
PACKAGE = Path("src/passway/kubevirt")
LEFT_OUT = (".*", "__pycache__", "build", "dist")
TESTS = (
    "tests/unit/test_values.py",
    "tests/conformance",
    "tests/unit/kubevirt",
    "tests/behaviour/test_preflight_admission.py",
    "tests/behaviour/test_preflight_launcher.py",
    "tests/behaviour/test_preflight_references.py",
    "tests/docs/test_pages.py",
    "tests/properties/test_hostdev.py",
    "tests/properties/test_discovery.py",
    "tests/properties/test_launcher.py",
    "tests/properties/test_admission.py",
    "tests/properties/test_references.py",
)
LIMIT_S = 120.0


def mutants() -> list[MutationSpec]:
    """All mutants of the package, in a fixed order."""
    paths = sorted(PACKAGE.rglob("*.py"))
    annotated = {str(path): set(_annotated(path)) for path in paths}
    items = [item.mutations[0] for item in _all_work_items(paths, {})]
    return [item for item in items if item.start_pos not in annotated[str(item.module_path)]]


def _annotated(path: Path) -> Iterator[tuple[int, int]]:
    """Every position inside a type annotation."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text)):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr) and found.end_lineno and found.end_col_offset:
                lines = text.split("\n")
                for line in range(found.lineno, found.end_lineno + 1):
                    for column in range(len(lines[line - 1]) + 1):
                        at = (line, column)
                        start = (found.lineno, found.col_offset)
                        if start <= at <= (found.end_lineno, found.end_col_offset):
                            yield at


def pytest(tree: Path, python: str, *arguments: str) -> tuple[TestOutcome, str]:
    """A run of pytest in the tree, and what it printed."""
    command = [
        "env", "-C", str(tree), f"PYTHONPATH={tree / 'src'}:{tree}",
        "PYTHONDONTWRITEBYTECODE=1", "CI=",
        python, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider",
        "--hypothesis-seed=0", "--hypothesis-profile=mutants", *arguments,
    ]  # fmt: skip
    result, output = run_tests(shlex.join(command), LIMIT_S)
    return result, str(output)


class Touched:
    """Which tests run which line; from a run of all of them without a mutant."""

    def __init__(self, tree: Path, python: str) -> None:
        configuration, report = tree / "contexts.rc", tree / "contexts.json"
        configuration.write_text("[json]\nshow_contexts = true\n")
        result, output = pytest(
            tree, python, *TESTS, f"--cov-config={configuration}", "--cov=passway.kubevirt",
            "--cov-context=test", f"--cov-report=json:{report}",
        )  # fmt: skip
        if result is not TestOutcome.SURVIVED:
            sys.exit(f"the tests fail without a mutant:\n{output}")
        self._files = json.loads(report.read_text())["files"]

    def by(self, mutant: MutationSpec) -> tuple[str, ...]:
        """The tests that run the mutated lines, the small ones first; all, where none is known."""
        contexts = self._files[str(mutant.module_path)]["contexts"]
        found: set[str] = set()
        for number in range(mutant.start_pos[0], mutant.end_pos[0] + 1):
            found |= {name.rpartition("|")[0] for name in contexts.get(str(number), ())}
        found.discard("")
        small = sorted(name for name in found if name.startswith("tests/unit"))
        return (*small, *sorted(found.difference(small))) or TESTS


def outcome(tree: Path, python: str, mutant: MutationSpec, tests: tuple[str, ...]) -> TestOutcome:
    """The tests on the tree with this mutant in it; the tree is as it was afterwards."""
    path = tree / mutant.module_path
    before = path.read_text()
    try:
        apply_mutation(path, get_operator(mutant.operator_name)(), mutant.occurrence)
        listed = tree / "tests.txt"
        listed.write_text("\n".join(tests))
        return pytest(tree, python, f"@{listed}")[0]
    finally:
        path.write_text(before)


def line(mutant: MutationSpec) -> str:
    name = mutant.operator_name.removeprefix("core/")
    return f"{mutant.module_path}:{mutant.start_pos[0]}:{mutant.start_pos[1]} {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description="mutation testing of kubevirt/ on a sample")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    options = parser.parse_args()
    every = mutants()
    sample = random.Random(options.seed).sample(every, min(options.count, len(every)))
    print(f"{len(every)} mutants, {len(sample)} drawn with seed {options.seed}", flush=True)
    survived: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for worker in range(options.workers):
            tree = Path(folder) / str(worker)
            shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
            trees.put(tree)
        touched = Touched(tree, options.python)

        def run(mutant: MutationSpec) -> TestOutcome:
            tree = trees.get()
            try:
                return outcome(tree, options.python, mutant, touched.by(mutant))
            finally:
                trees.put(tree)

        start = time.monotonic()
        with ThreadPoolExecutor(options.workers) as pool:
            for done, (mutant, result) in enumerate(
                zip(sample, pool.map(run, sample), strict=True), 1
            ):
                if result is TestOutcome.SURVIVED:
                    survived.append(line(mutant))
                    print(f"survived: {survived[-1]}", flush=True)
                if done % 20 == 0:
                    print(f"{done} done, {time.monotonic() - start:.0f} s", file=sys.stderr)
    killed = len(sample) - len(survived)
    print(f"killed {killed} of {len(sample)} ({killed / len(sample):.1%})")


if __name__ == "__main__":
    main()
