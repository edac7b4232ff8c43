"""What a snapshot should bring back, and what lies in a directory: counted alike, to be compared.

Restic's own word that a restore succeeded is one thing; that as many files and bytes are there as
the snapshot holds is another, and it is cheap.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leitstand.archive.objects.restic import Message, Restic

OWNERS_SHOWN = 10


@dataclass
class TreeCount:
    """Regular files with their bytes, directories, everything else, and how much whose."""

    files: int = 0
    bytes: int = 0
    directories: int = 0
    others: int = 0
    owners: Counter[tuple[int, int]] = field(default_factory=Counter)
    tops: set[str] = field(default_factory=set)
    """The names at the top, as restic shows them."""

    def same_content(self, other: "TreeCount") -> bool:
        """Whether both have as many files, bytes and other things."""
        mine = (self.files, self.bytes, self.directories, self.others)
        return mine == (other.files, other.bytes, other.directories, other.others)

    def __str__(self) -> str:
        return (
            f"{self.files} files with {self.bytes} bytes, {self.directories} directories,"
            f" {self.others} others"
        )

    def take(self, message: Message) -> None:
        """Add a node of ``restic ls``; what is none is ignored."""
        if message.get("struct_type") != "node":
            return
        self._add(str(message.get("type")), int(message.get("size", 0)))
        self.owners[int(message.get("uid", 0)), int(message.get("gid", 0))] += 1
        self.tops.add(str(message.get("path", "/")).split("/")[1])

    def _add(self, kind: str, size: int) -> None:
        if kind == "file":
            self.files += 1
            self.bytes += size
        elif kind == "dir":
            self.directories += 1
        else:
            self.others += 1

    def add_directory(self, top: Path) -> None:
        """Add everything below ``top``, but not itself; raises OSError."""
        waiting = [os.fspath(top)]
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    self._add_entry(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)

    def _add_entry(self, entry: "os.DirEntry[str]") -> None:
        status = entry.stat(follow_symlinks=False)
        self.owners[status.st_uid, status.st_gid] += 1
        if entry.is_dir(follow_symlinks=False):
            self._add("dir", 0)
        elif entry.is_file(follow_symlinks=False):
            self._add("file", status.st_size)
        else:
            self._add("other", 0)

    def owners_as_dict(self) -> list[dict[str, Any]]:
        """Who owns most."""
        common = self.owners.most_common(OWNERS_SHOWN)
        return [{"uid": uid, "gid": gid, "count": count} for (uid, gid), count in common]


async def counted_in_snapshot(restic: Restic, snapshot: str) -> TreeCount:
    """What ``snapshot`` holds; raises what the call's exit code means."""
    count = TreeCount()
    answer = await restic.call("ls", "--json", "--no-lock", snapshot, on_message=count.take)
    if answer.exit_code != 0:
        raise restic.failure("ls", answer)
    return count
