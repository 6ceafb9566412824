"""The configuration of a client of Kubernetes: kubeconfig files, exec plugins, service accounts.

`load_config` is the way in. The records, the merging and the choice are pure; reading files and
running plugins stand apart from them. docs/design/0012-own-kubeconfig.md says why this is own code.
"""

from passway.kube.config.client import ClientConfig
from passway.kube.config.credentials import Credentials
from passway.kube.config.load import load_config
from passway.kube.config.select import Overrides
from passway.kube.config.surroundings import Surroundings, here
from passway.kube.config.trust import KeyPair, Trust

__all__ = [
    "ClientConfig",
    "Credentials",
    "KeyPair",
    "Overrides",
    "Surroundings",
    "Trust",
    "here",
    "load_config",
]
