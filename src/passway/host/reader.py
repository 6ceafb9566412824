"""From a host's root to a `HostTree`: the only module that touches the host's files.

Reads what discovery needs and nothing else: PCI, mdev and USB devices, mdev types, IOMMU groups,
the names in `dev/vfio`. Links are recorded and resolved inside the root, as in a chroot; a folder
is entered part by part without following links, so none leads out. Device nodes are never opened:
only regular files below `sys` are. Files that cannot be read are named in `left_out`; over a
limit there is no answer (TooLarge), since half a tree would say "not there" of what is.
"""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from passway.host.tree import MAX_LINKS, Directory, Entry, HostTree, Link, Text
from passway.model.errors import InvalidInput, TooLarge

Parts: TypeAlias = tuple[str, ...]

_PCI: Final = ("sys", "bus", "pci", "devices")
_MDEV: Final = ("sys", "bus", "mdev", "devices")
_USB: Final = ("sys", "bus", "usb", "devices")
_MDEV_BUS: Final = ("sys", "class", "mdev_bus")
_GROUPS: Final = ("sys", "kernel", "iommu_groups")
_VFIO: Final = ("dev", "vfio")
_OF_A_DEVICE: Final = (
    "driver", "iommu_group", "idVendor", "mdev_type", "numa_node", "sriov_totalvfs", "uevent",
)  # fmt: skip
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is read at most. A host with 5,000 PCI functions has about 60,000 entries."""

    entries: int = 400_000
    file_bytes: int = 64 * 1024
    total_bytes: int = 64 * 2**20
    depth: int = 64
    seconds: float = 60.0


def read_tree(root: Path, limits: Limits | None = None) -> HostTree:
    """The files below a host's root that discovery needs; raises InvalidInput or TooLarge."""
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"{root}: {reason}") from None
    try:
        reader = _Reader(top, limits or Limits())
        if reader.kind(("sys",)) is None:
            raise InvalidInput(
                f"{root}: there is no sys in it",
                hint="name the root of the host, or a folder with a copy of its sys and dev",
            )
        reader.read()
    finally:
        os.close(top)
    return HostTree(reader.entries, sorted(reader.left_out))


class _Reader:
    """One reading: what was found so far, and how much more may be."""

    def __init__(self, top: int, limits: Limits) -> None:
        self.entries: dict[str, Entry] = {}
        self.left_out: set[str] = set()
        self._top = top
        self._limits = limits
        self._bytes = 0
        self._end = time.monotonic() + limits.seconds
        self._read: set[Parts] = set()

    def read(self) -> None:
        for folder in (_PCI, _MDEV, _USB, _MDEV_BUS):
            for name in self._list(folder):
                self._device((*folder, name))
        for group in self._list(_GROUPS):
            self._list((*_GROUPS, group, "devices"))
        for name in self._list(_VFIO):
            if name == "devices":
                self._list((*_VFIO, name))

    def kind(self, parts: Parts) -> int | None:
        """The type of a file (of a link itself); None if there is none that can be seen."""
        with suppress(OSError), self._folder(parts[:-1]) as folder:
            return stat.S_IFMT(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode)
        return None

    # -- what is read -----------------------------------------------------------------------------

    def _device(self, parts: Parts) -> None:
        """The files of a device, wherever its link leads."""
        place = self._resolve(parts)
        if place is None or place in self._read or self.kind(place) != stat.S_IFDIR:
            return
        self._read.add(place)
        for name in _OF_A_DEVICE:
            self._take((*place, name))
        self._take((*place, "nvidia", "current_vgpu_type"))
        self._list((*place, "vfio-dev"))
        types = (*place, "mdev_supported_types")
        for name in self._list(types):
            self._take((*types, name, "name"))
        if (mdev_type := self._resolve((*place, "mdev_type"))) is not None:
            self._take((*mdev_type, "name"))

    def _list(self, parts: Parts) -> list[str]:
        """Records a directory and what is in it; the names, sorted. A link is recorded only."""
        names: list[str] = []
        try:
            with self._folder(parts) as folder, os.scandir(folder) as items:
                self._add(parts, Directory())
                for item in items:
                    self._add_item((*parts, item.name), item)
                    names.append(item.name)
        except FileNotFoundError:
            return []
        except OSError:
            self._leave_out(parts)
        return sorted(name for name in names if "/".join((*parts, name)) in self.entries)

    def _add_item(self, parts: Parts, item: "os.DirEntry[str]") -> None:
        if item.is_symlink():
            self._take(parts)
        else:
            # Of a file in a listing it only matters that it is there: it may be a device node.
            self._add(parts, Directory() if item.is_dir(follow_symlinks=False) else Text(""))

    def _take(self, parts: Parts) -> None:
        """Records a link, or the text of a regular file."""
        try:
            with self._folder(parts[:-1]) as folder:
                mode = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISLNK(mode):
                    self._add(parts, Link(os.readlink(parts[-1], dir_fd=folder)))
                elif stat.S_ISREG(mode):
                    self._add(parts, Text(self._text(parts[-1], folder)))
        except FileNotFoundError:
            return
        except (OSError, _Huge):
            self._leave_out(parts)

    def _text(self, name: str, folder: int) -> str:
        fd = os.open(name, _FILE, dir_fd=folder)
        with os.fdopen(fd, "rb") as file:
            content = file.read(self._limits.file_bytes + 1)
        if len(content) > self._limits.file_bytes:
            raise _Huge
        self._bytes += len(content)
        return content.decode("utf-8", "replace")

    # -- the way through the links ----------------------------------------------------------------

    def _resolve(self, parts: Parts) -> Parts | None:
        """Where a path ends behind all its links, which are recorded; None if it leads nowhere."""
        trail: list[str] = []
        pending = [*reversed(parts)]
        followed = 0
        while pending:
            part = pending.pop()
            if part == "..":
                del trail[-1:]
                continue
            trail.append(part)
            if len(trail) > self._limits.depth or (kind := self.kind(tuple(trail))) is None:
                return None
            if kind == stat.S_IFLNK:
                followed += 1
                target = self._target(tuple(trail))
                if followed > MAX_LINKS or not target:
                    return None
                del trail[0 if target.startswith("/") else -1 :]
                pending += [one for one in reversed(target.split("/")) if one not in {"", "."}]
        return tuple(trail)

    def _target(self, parts: Parts) -> str:
        self._take(parts)
        entry = self.entries.get("/".join(parts))
        return entry.target if isinstance(entry, Link) else ""

    @contextmanager
    def _folder(self, parts: Parts) -> Iterator[int]:
        """A directory, entered part by part; a link on the way is an error."""
        folder = os.dup(self._top)
        try:
            for part in parts:
                inner = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    # -- the limits -------------------------------------------------------------------------------

    def _add(self, parts: Parts, entry: Entry) -> None:
        path = "/".join(parts)
        if not _is_text(path) or (isinstance(entry, Link) and not _is_text(entry.target)):
            self._leave_out(parts)
            return
        self.entries.setdefault(path, entry)
        self._check()

    def _leave_out(self, parts: Parts) -> None:
        self.left_out.add("/".join(parts).encode("utf-8", "replace").decode("utf-8"))
        self._check()

    def _check(self) -> None:
        limits = self._limits
        if len(self.entries) + len(self.left_out) > limits.entries:
            raise TooLarge(f"the host has more than {limits.entries} files that would be read")
        if self._bytes > limits.total_bytes:
            raise TooLarge(f"the files of the host have more than {limits.total_bytes} bytes")
        if time.monotonic() > self._end:
            raise TooLarge(f"reading the host takes longer than {limits.seconds:g} s")


class _Huge(Exception):
    """A file larger than any that the kernel makes here."""


def _is_text(path: str) -> bool:
    """Whether a name is UTF-8, which is all that documents can hold."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)
