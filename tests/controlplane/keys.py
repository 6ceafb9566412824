"""Keys and certificates of one control plane: one authority for everything, made anew each time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

SERVED: Final = ("127.0.0.1", "10.0.0.1", "localhost", "kubernetes.default.svc",
                 "virt-api.kubevirt.svc")  # fmt: skip
"""The names of every server of the bench."""
CLIENTS: Final = {
    "admin": ("admin", "system:masters"),
    "scheduler": ("system:kube-scheduler", None),
    "controller-manager": ("system:kube-controller-manager", None),
    "front-proxy": ("front-proxy", None),
    "handler": ("kubevirt.io:system:client:virt-handler", None),
}
"""File name -> (user, group) of a client certificate."""


@dataclass(frozen=True)
class Keys:
    """Where the files lie: NAME.crt and NAME.key, `ca.crt`, and the service accounts' keys."""

    folder: Path

    def certificate(self, name: str) -> str:
        return str(self.folder / f"{name}.crt")

    def key(self, name: str) -> str:
        return str(self.folder / f"{name}.key")

    @property
    def authority(self) -> str:
        return self.certificate("ca")


def make_keys(folder: Path) -> Keys:
    """Writes all files into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    keys, authority = Keys(folder), trustme.CA()
    authority.cert_pem.write_to_path(keys.authority)
    authority.private_key_pem.write_to_path(keys.key("ca"))
    _write(keys, "server", authority.issue_cert(*SERVED))
    for name, (user, group) in CLIENTS.items():
        # A certificate without any name has an empty critical extension, which Go refuses.
        made = authority.issue_cert("localhost", common_name=user, organization_name=group)
        _write(keys, name, made)
    signing = ec.generate_private_key(ec.SECP256R1())
    Path(keys.key("accounts")).write_bytes(
        signing.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    Path(keys.certificate("accounts")).write_bytes(
        signing.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return keys


def _write(keys: Keys, name: str, made: trustme.LeafCert) -> None:
    made.private_key_pem.write_to_path(keys.key(name))
    chain = b"".join(part.bytes() for part in made.cert_chain_pems)
    Path(keys.certificate(name)).write_bytes(chain)
