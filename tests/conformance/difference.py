"""What a conformance check reports: one value that is not what KubeVirt itself gives."""

from typing import NamedTuple


class Difference(NamedTuple):
    """`path`: where in the case's expected value; the other two are any JSON value."""

    path: str
    expected: object
    got: object
