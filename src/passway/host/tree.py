"""A part of a host's file system as a value: path -> text, link or directory.

Owns the resolution of symbolic links, which happens inside the value only: a link that leaves it
leads nowhere, a loop ends after as many links as Linux follows, and `..` stops at the top. Paths
have no leading slash (`sys/bus/pci/devices`, `dev/vfio/45`); parents are implied. It knows nothing
of what the files mean. A path that is both a file and a directory is a directory.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

MAX_LINKS: Final = 40
"""How many symbolic links Linux follows in one look-up (fs/namei.c, MAXSYMLINKS)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file. Of a device node only that it exists matters: its text is empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link, as it was written."""

    target: str


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory, which matters where it is empty."""


Entry: TypeAlias = Text | Link | Directory


@dataclass(slots=True)
class _Folder:
    children: dict[str, "_Node"] = field(default_factory=dict)


_Node: TypeAlias = _Folder | Text | Link


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk came past: its path, its own name, and whether it is a symbolic link."""

    path: str
    name: str
    is_link: bool
    is_directory: bool


class HostTree:
    """An immutable tree of files; every question takes a path and follows links on the way."""

    __slots__ = ("_entries", "_top", "left_out")

    def __init__(self, entries: Mapping[str, Entry], left_out: Iterable[str] = ()) -> None:
        self._entries = dict(entries)
        self._top = _Folder()
        self.left_out: Final = tuple(left_out)
        """What is there, but could not be read."""
        for path, entry in self._entries.items():
            _put(self._top, path, entry)

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The entries as they were given."""
        return self._entries

    @classmethod
    def of(cls, raw: Mapping[str, Mapping[str, object]]) -> "HostTree":
        """A tree from its JSON form: `{"text": …}`, `{"link": …}` or `{"dir": true}` a path."""
        return cls({path: _entry(item) for path, item in raw.items()})

    def text(self, path: str) -> str | None:
        """The content of a file; None if there is no file."""
        node = self._find(path)
        return node.text if isinstance(node, Text) else None

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as readlink says; None if it is none."""
        node = self._find(path, follow=False)
        return node.target if isinstance(node, Link) else None

    def link_name(self, path: str) -> str | None:
        """The last part of where a link points: sysfs names drivers and groups that way."""
        target = self.link(path)
        return None if target is None else target.rpartition("/")[2]

    def exists(self, path: str) -> bool:
        """Whether something is there, behind all links."""
        return self._find(path) is not None

    def names(self, path: str) -> tuple[str, ...]:
        """What a directory holds, sorted; empty if there is no directory."""
        node = self._find(path)
        return tuple(sorted(node.children)) if isinstance(node, _Folder) else ()

    def walk(self, path: str) -> Iterator[Found]:
        """Everything below a directory, sorted, without following links (Go's filepath.Walk)."""
        pending = [f"{path}/{name}" for name in reversed(self._real_names(path))]
        while pending:
            here = pending.pop()
            node = self._find(here, follow=False)
            folder = isinstance(node, _Folder)
            yield Found(here, here.rpartition("/")[2], isinstance(node, Link), folder)
            pending += [f"{here}/{name}" for name in reversed(self._real_names(here))]

    def _real_names(self, path: str) -> list[str]:
        node = self._find(path, follow=False)
        return sorted(node.children) if isinstance(node, _Folder) else []

    def _find(self, path: str, *, follow: bool = True) -> _Node | None:
        """The node at a path; the last part is followed too if it is a link, unless told not to."""
        trail = [self._top]
        pending = [*reversed(_parts(path))]
        followed = 0
        while pending:
            part = pending.pop()
            if part == "..":
                del trail[max(1, len(trail) - 1) :]
                continue
            node = trail[-1].children.get(part)
            if isinstance(node, Link) and (pending or follow):
                followed += 1
                if followed > MAX_LINKS or not node.target:
                    return None
                if node.target.startswith("/"):
                    trail = [self._top]
                pending += reversed(_parts(node.target))
            elif isinstance(node, _Folder):
                trail.append(node)
            else:
                return None if pending else node
        return trail[-1]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in {"", "."}]


def _put(top: _Folder, path: str, entry: Entry) -> None:
    """Puts one entry into the folders; a path with `..` names no place and is left out."""
    parts = _parts(path)
    if not parts or ".." in parts:
        return
    *parents, name = parts
    folder = _folder(top, parents)
    if isinstance(entry, Directory):
        _folder(folder, [name])
    elif not isinstance(folder.children.get(name), _Folder):
        folder.children[name] = entry


def _folder(top: _Folder, names: Iterable[str]) -> _Folder:
    for name in names:
        node = top.children.get(name)
        if not isinstance(node, _Folder):
            node = top.children[name] = _Folder()
        top = node
    return top


def _entry(raw: Mapping[str, object]) -> Entry:
    if "link" in raw:
        return Link(str(raw["link"]))
    return Text(str(raw["text"])) if "text" in raw else Directory()
