"""Laws of defaults and admission: no generated VMI crashes them, and defaults are stable."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from passway.kubevirt.admission import mutate_and_judge, review
from passway.kubevirt.defaults import Refused, default
from passway.kubevirt.settings import settings_of
from passway.manifest.table import Structure, load

WORDS = st.sampled_from(
    ["", "a", "b", "default", "virtio", "Bad_", "2Mi", "1Gi", "0", "-1", "500m", "host-model",
     "0000:0a:00.0", "02:00:00:00:00:01", "absent", "q35", "arm64", "s390x", "None"]
)  # fmt: skip
SIMPLE = {
    "string": WORDS,
    "integer": st.integers(-1, 5),
    "boolean": st.booleans(),
    "quantity": st.sampled_from(["0", "1", "2Gi", "1536Mi", "-1", "500m", 3, 1.5]),
    "int-or-string": st.integers(0, 9) | WORDS,
    "any": st.none() | st.integers() | st.dictionaries(WORDS, WORDS, max_size=1),
}
GATES = st.lists(
    st.sampled_from(["HostDevices", "NetworkDevicesWithDRA", "Passt", "Sidecar", "HostDisk"]),
    max_size=5,
)


@st.composite
def shaped(draw, shape):
    """A value that the schema takes (or nearly: an enumeration is any text)."""
    shape = load().resolve(shape)
    if not isinstance(shape, Structure):
        return draw(SIMPLE[shape])
    if shape.list is not None:
        return [draw(shaped(shape.list)) for _ in range(draw(st.integers(0, 2)))]
    if shape.map is not None:
        return {draw(WORDS): draw(shaped(shape.map)) for _ in range(draw(st.integers(0, 2)))}
    if shape.fields is None:
        return draw(WORDS)
    names = sorted(shape.fields)
    chosen = draw(st.lists(st.sampled_from(names), max_size=4, unique=True)) if names else []
    return {
        name: draw(shaped(shape.fields[name])) for name in dict.fromkeys([*shape.required, *chosen])
    }


def configured(gates):
    return settings_of({"developerConfiguration": {"featureGates": gates}})


@settings(max_examples=150, deadline=None)
@given(spec=shaped("$vmi"), gates=GATES)
def test_no_vmi_crashes_admission(spec, gates):
    vmi = {"metadata": {"name": "vm"}, "spec": spec}
    before = copy.deepcopy(vmi)
    answer = review(vmi, configured(gates))
    assert vmi == before
    assert answer == review(vmi, configured(gates))
    assert answer.allowed == (not answer.causes)
    assert all(cause.rule and cause.sites for cause in answer.causes)


@settings(max_examples=100, deadline=None)
@given(spec=shaped("$vmi"))
def test_defaults_change_nothing_the_second_time(spec):
    on = configured([])
    try:
        once = default({"spec": spec}, on, "u")
    except Refused:
        return
    assert default(once, on, "other") == once
    assert mutate_and_judge(once, on).causes == mutate_and_judge({"spec": spec}, on).causes
