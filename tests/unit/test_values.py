"""What holds for every value of the pure layers: nobody can change it, and it has no loose fields.

The few that are built up step by step, and never leave their module's functions, are named.
"""

import dataclasses
import importlib
import pkgutil

import msgspec
import pytest

PURE = ("model", "manifest", "cluster", "scheduler", "kubevirt", "preflight", "plan")


def classes():
    for layer in PURE:
        package = importlib.import_module(f"passway.{layer}")
        modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for name in (package.__name__, *(module.name for module in modules)):
            for found in vars(importlib.import_module(name)).values():
                if isinstance(found, type) and found.__module__ == name:
                    yield found


def name_of(found):
    return f"{found.__module__}.{found.__name__}"


BUILT_UP = {"Ledger", "Usage", "_Copies", "_Found", "_Frame", "_Spread"}
CLASSES = sorted(classes(), key=name_of)
VALUES = [found for found in CLASSES if dataclasses.is_dataclass(found)]
STRUCTS = [found for found in CLASSES if issubclass(found, msgspec.Struct)]


@pytest.mark.parametrize("struct", STRUCTS, ids=name_of)
def test_a_struct_is_frozen(struct):
    assert struct.__struct_config__.frozen is (struct.__name__ not in BUILT_UP)


@pytest.mark.parametrize("value", VALUES, ids=name_of)
def test_a_dataclass_is_frozen_and_slotted(value):
    assert value.__dataclass_params__.frozen is (value.__name__ not in BUILT_UP)
    assert "__slots__" in vars(value)


def test_the_values_are_found():
    assert len(VALUES) > 50
    assert len(STRUCTS) > 50
