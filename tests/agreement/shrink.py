"""A smaller scenario that still disagrees: whole objects go first, then parts of the VM."""

from collections.abc import Iterator
from typing import Final

from tests.agreement.bench import Bench, Result
from tests.agreement.scenario import Object, Scenario

TRIES: Final = 120
LISTS: Final = ("pods", "nodes", "quotas", "attachments", "volumes", "priorities")


def shrink(bench: Bench, result: Result) -> Result:
    """Tries each removal on the plane; keeps those after which the two still disagree."""
    tries, smaller = 0, True
    while smaller and tries < TRIES:
        smaller = False
        for candidate in _smaller(result.scenario):
            tries += 1
            if tries > TRIES:
                break
            try:
                found = bench.run(candidate)
            except (TimeoutError, RuntimeError, ValueError):
                continue  # it does not even get that far
            if found.faults:
                result, smaller = found, True
                break
    return result


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    for name in LISTS:
        for index in range(len(getattr(scenario, name))):
            made = scenario.copy()
            del getattr(made, name)[index]
            yield made
    yield from _simpler_vm(scenario)


def _simpler_vm(scenario: Scenario) -> Iterator[Scenario]:
    def spec(made: Scenario) -> Object:
        return made.vm["spec"]["template"]["spec"]

    for key in sorted(set(spec(scenario)) - {"domain", "networks"}):
        made = scenario.copy()
        del spec(made)[key]
        yield made
    for key in sorted(set(spec(scenario)["domain"]) - {"devices", "memory"}):
        made = scenario.copy()
        del spec(made)["domain"][key]
        yield made
    for key in sorted(set(spec(scenario)["domain"]["devices"]) - {"interfaces"}):
        made = scenario.copy()
        del spec(made)["domain"]["devices"][key]
        yield made
