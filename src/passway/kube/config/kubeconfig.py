"""What one kubeconfig file says: clusters, users, contexts. Pure: text in, records out.

The whole file is checked for its types, as kubectl does, because a fault in an entry that is not
used today is found before the day it is. Paths are resolved against the folder of their file here,
so that files can be merged afterwards. Secrets are kept out of every repr.
Source: k8s.io/client-go/tools/clientcmd/api/v1.
"""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from passway.kube.config.fields import Fields, invalid, root
from passway.manifest.nodes import MappingNode, shorten

InteractiveMode = Literal["", "Never", "IfAvailable", "Always"]
_MODES: Final[dict[str, InteractiveMode]] = {
    "": "", "Never": "Never", "IfAvailable": "IfAvailable", "Always": "Always",
}  # fmt: skip
_EXTENSION: Final = "client.authentication.k8s.io/exec"


@dataclass(frozen=True, slots=True)
class Cluster:
    """`extension`: JSON that an exec plugin is given about this cluster."""

    where: str
    name: str
    server: str = ""
    tls_server_name: str = ""
    insecure: bool = False
    ca_file: str = ""
    ca_data: bytes = field(default=b"", repr=False)
    proxy_url: str = field(default="", repr=False)
    disable_compression: bool = False
    extension: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Plugin:
    """An exec plugin; its arguments and variables may hold secrets."""

    where: str
    api_version: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    interactive_mode: InteractiveMode = ""
    provide_cluster_info: bool = False
    install_hint: str = ""


@dataclass(frozen=True, slots=True)
class User:
    """How a user is known; `auth_provider` is the name of a provider of the old kind."""

    where: str
    name: str
    certificate_file: str = ""
    certificate_data: bytes = field(default=b"", repr=False)
    key_file: str = ""
    key_data: bytes = field(default=b"", repr=False)
    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    as_user: str = ""
    as_uid: str = ""
    as_groups: tuple[str, ...] = ()
    as_extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    plugin: Plugin | None = None
    auth_provider: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """A cluster, a user and a namespace by their names."""

    where: str
    name: str
    cluster: str = ""
    user: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The entries by name. `files`: where they come from, for messages."""

    files: tuple[str, ...] = ()
    current_context: str = ""
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    users: Mapping[str, User] = field(default_factory=dict)
    contexts: Mapping[str, Context] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Nothing in it says what to talk to."""
        return not (self.clusters or self.contexts)


Item = TypeVar("Item", Cluster, User, Context)


def parse(text: bytes, file: str, folder: str) -> Kubeconfig:
    """One file; `folder` is the absolute path that relative paths in it are read from."""
    top = root(text, file)
    if top is None:
        return Kubeconfig((file,))
    if (top.text("kind") or "Config", top.text("apiVersion") or "v1") != ("Config", "v1"):
        raise invalid(
            file, "not a kubeconfig: its apiVersion and kind are not v1 and Config",
            "name a kubeconfig; kubectl config view shows the one in use",
        )  # fmt: skip

    def cluster(name: str, fields: Fields) -> Cluster:
        return _cluster(name, fields, folder)

    def user(name: str, fields: Fields) -> User:
        return _user(name, fields, folder)

    return Kubeconfig(
        (file,),
        top.text("current-context"),
        _named(top, "clusters", "cluster", cluster),
        _named(top, "users", "user", user),
        _named(top, "contexts", "context", _context),
    )


def _named(
    top: Fields, section: str, body: str, build: Callable[[str, Fields], Item]
) -> dict[str, Item]:
    found: dict[str, Item] = {}
    for item in top.mappings(section):
        name = item.text("name")
        if name in found:
            raise item.wrong(
                "name", f'a second entry named "{shorten(name)}"', "rename or remove one of them"
            )
        node = item.node
        nothing = Fields(MappingNode(node.file, node.line, node.column), f"{item.path}.{body}")
        found[name] = build(name, item.mapping(body) or nothing)
    return found


def _path(fields: Fields, key: str, folder: str) -> str:
    path = fields.text(key)
    return posixpath.normpath(posixpath.join(folder, path)) if path else ""


def _cluster(name: str, fields: Fields, folder: str) -> Cluster:
    extension = ""
    for item in fields.mappings("extensions"):
        if item.text("name") == _EXTENSION:
            extension = item.json("extension")
    return Cluster(
        fields.where,
        name,
        server=fields.text("server"),
        tls_server_name=fields.text("tls-server-name"),
        insecure=fields.flag("insecure-skip-tls-verify"),
        ca_file=_path(fields, "certificate-authority", folder),
        ca_data=fields.data("certificate-authority-data"),
        proxy_url=fields.text("proxy-url"),
        disable_compression=fields.flag("disable-compression"),
        extension=extension,
    )


def _user(name: str, fields: Fields, folder: str) -> User:
    provider = fields.mapping("auth-provider")
    plugin = fields.mapping("exec")
    extra = fields.mapping("as-user-extra")
    return User(
        fields.where,
        name,
        certificate_file=_path(fields, "client-certificate", folder),
        certificate_data=fields.data("client-certificate-data"),
        key_file=_path(fields, "client-key", folder),
        key_data=fields.data("client-key-data"),
        token=fields.text("token"),
        token_file=_path(fields, "tokenFile", folder),
        username=fields.text("username"),
        password=fields.text("password"),
        as_user=fields.text("as"),
        as_uid=fields.text("as-uid"),
        as_groups=fields.texts("as-groups"),
        as_extra=tuple((key, extra.texts(key)) for key in sorted(extra.keys())) if extra else (),
        plugin=_plugin(plugin, folder) if plugin else None,
        auth_provider=(provider.text("name") or "unnamed") if provider else "",
    )


def _plugin(fields: Fields, folder: str) -> Plugin:
    command = fields.text("command")
    mode = _MODES.get(fields.text("interactiveMode"))
    if mode is None:
        raise fields.wrong("interactiveMode", "must be Never, IfAvailable or Always")
    return Plugin(
        fields.where,
        api_version=fields.text("apiVersion"),
        # A bare name is looked for in PATH; only a path belongs to the file's folder.
        command=_path(fields, "command", folder) if "/" in command else command,
        args=fields.texts("args"),
        env=tuple((item.text("name"), item.text("value")) for item in fields.mappings("env")),
        interactive_mode=mode,
        provide_cluster_info=fields.flag("provideClusterInfo"),
        install_hint=fields.text("installHint"),
    )


def _context(name: str, fields: Fields) -> Context:
    return Context(
        fields.where,
        name,
        cluster=fields.text("cluster"),
        user=fields.text("user"),
        namespace=fields.text("namespace"),
    )
