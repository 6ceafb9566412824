"""The KubeVirt object's configuration, with every absent level read as empty."""

from typing import Final

from passway.cluster.records import Configuration, DeveloperConfiguration, KubeVirt

_NONE: Final = Configuration()
_NO_DEVELOPER: Final = DeveloperConfiguration()


def configuration_of(kubevirt: KubeVirt | None) -> Configuration:
    """`spec.configuration`."""
    spec = kubevirt.spec if kubevirt else None
    return (spec.configuration if spec else None) or _NONE


def developer_of(kubevirt: KubeVirt | None) -> DeveloperConfiguration:
    """`spec.configuration.developerConfiguration`."""
    return configuration_of(kubevirt).developer_configuration or _NO_DEVELOPER
