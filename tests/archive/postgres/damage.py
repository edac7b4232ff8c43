"""The damage matrix: every way to break one stage of a backup, and what must be said about it."""

import gzip
import hashlib
import os
import re
import shutil
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from isal import igzip

from leitstand.archive.postgres.stage import BASE, MANIFEST, SIDECAR, WAL
from tests.archive.postgres.backup_scene import Scene
from tests.archive.postgres.tar_writer import (
    BLOCK,
    Member,
    boundaries,
    read_gz,
    seal,
    tar,
    write_gz,
)


@dataclass(frozen=True)
class Damage:
    """``apply`` breaks a stage's directory, given one of another generation; findings of ``file``
    must match ``problem``.
    """

    id: str
    file: str
    problem: str
    apply: Callable[[Path, Path], None]


def copy_generation(generation: Path, target: Path) -> None:
    """A copy that shares all files with the original; damages write new files."""
    shutil.copytree(generation, target, copy_function=os.link)


def stage_paths(generation: Path) -> list[Path]:
    """The full backup, then the increments."""
    return [generation / "full", *sorted((generation / "incremental").iterdir())]


def replace(path: Path, content: bytes) -> None:
    """Write ``content`` to a new inode, so that a shared original stays as it is."""
    path.unlink()
    path.write_bytes(content)


def damages(scene: Scene) -> list[Damage]:
    """The matrix for one stage."""
    found = _manifest_damages()
    for archive in (BASE, WAL, scene.tablespace):
        found += archive_damages(archive)
    return found


def archive_damages(archive: str) -> list[Damage]:
    """All damages of one archive."""
    return _file_damages(archive) + _gzip_damages(archive) + _tar_damages(archive)


def _on_bytes(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path, Path], None]:
    def apply(stage: Path, _: Path) -> None:
        replace(stage / name, change((stage / name).read_bytes()))

    return apply


def _on_tar(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path, Path], None]:
    def apply(stage: Path, _: Path) -> None:
        write_gz(stage / name, change(read_gz(stage / name)))

    return apply


def _file_damages(archive: str) -> list[Damage]:
    def remove(stage: Path, _: Path) -> None:
        (stage / archive).unlink()

    def swap(stage: Path, other: Path) -> None:
        replace(stage / archive, (other / archive).read_bytes())

    swapped = "is not in the archive" if archive == WAL else "than the manifest|the manifest says"
    return [
        Damage("missing", archive, "does not exist", remove),
        Damage("empty", archive, "it is empty", _on_bytes(archive, lambda _: b"")),
        Damage("swapped", archive, swapped, swap),
    ]


def _gzip_damages(archive: str) -> list[Damage]:
    def on(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], None]:
        return _on_bytes(archive, change)

    second = "second gzip member|data follows after the end marker|too many zeros"
    return [
        Damage("byte flipped", archive, "", on(_flip_middle)),  # what is said depends on the place
        Damage("wrong CRC", archive, "CRC", on(lambda b: b[:-8] + _inverted(b[-8:-4]) + b[-4:])),
        Damage("last 8 bytes cut", archive, "gzip trailer", on(lambda b: b[:-8])),
        Damage("truncated", archive, "cut off", on(lambda b: b[: len(b) // 2])),
        Damage("8 bytes appended", archive, "bytes follow", on(lambda b: b + b"\0" * 8)),
        Damage("second member", archive, second, on(lambda b: b + igzip.compress(bytes(512)))),
        Damage("second, empty", archive, "gzip member", on(lambda b: b + igzip.compress(b""))),
    ]


def _tar_damages(archive: str) -> list[Damage]:
    def on(change: Callable[[bytes], bytes]) -> Callable[[Path, Path], None]:
        return _on_tar(archive, change)

    ghost = b"PG_18_202506291/9/9" if archive[0].isdigit() else b"base/9"
    unknown = "is not in the manifest|neither a WAL segment"
    zeros = "stands in the middle|follows after|too many zeros|checksum|another CRC32C"
    found = [
        Damage("cut at a member", archive, "end marker is missing", on(_cut_at_member)),
        Damage("zeros between members", archive, zeros, on(_insert_zeros)),
        Damage("zeros inside a member", archive, zeros, on(_insert_zeros_inside)),
        Damage("member removed", archive, "is not in the archive|but not in", on(_remove_member)),
        Damage("member added", archive, unknown, on(lambda b: tar([Member(ghost, b"?")], b"") + b)),
        Damage("member renamed", archive, unknown, on(_rename_member)),
        Damage("end marker cut", archive, "cut off", on(lambda b: b[:-512])),
    ]
    if archive != WAL:  # in the WAL, only changes of what is needed can be found without a record
        found.append(Damage("content changed", archive, "another CRC32C", on(_change_content)))
    if archive == BASE:
        found.append(Damage("padding not zero", archive, "padding", on(_dirty_padding)))
    return found


def _manifest_damages() -> list[Damage]:
    def remove(stage: Path, _: Path) -> None:
        (stage / MANIFEST).unlink()

    def swap(stage: Path, other: Path) -> None:
        replace(stage / MANIFEST, (other / MANIFEST).read_bytes())

    edited = _on_bytes(MANIFEST, lambda b: b.replace(b'"Size": 8192', b'"Size": 8193', 1))
    return [
        Damage("edited", MANIFEST, "own checksum does not match", edited),
        Damage("edited and sealed", BASE, "the manifest says", _on_bytes(MANIFEST, _edit_sealed)),
        Damage("entry removed", BASE, "is not in the manifest", _on_bytes(MANIFEST, _drop_entry)),
        Damage("missing", MANIFEST, "does not exist", remove),
        Damage("empty", MANIFEST, "is empty", _on_bytes(MANIFEST, lambda _: b"")),
        Damage("truncated", MANIFEST, "cut off", _on_bytes(MANIFEST, lambda b: b[: len(b) // 2])),
        Damage("from another backup", BASE, "manifest", swap),
    ]


def _flip_middle(content: bytes) -> bytes:
    """One bit flipped, near the middle, where it matters: some flips only change how the same
    content is packed (a match in a run of zeros may point anywhere in it)."""
    middle = len(content) // 2
    flips = (flip(content, at) for at in range(middle, len(content)))
    return next(flipped for flipped in flips if unpacks_to(flipped) != unpacks_to(content))


def flip(content: bytes, at: int, mask: int = 0x10) -> bytes:
    """``content`` with some bits of the byte ``at`` inverted."""
    return content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :]


def unpacks_to(content: bytes) -> bytes | None:
    """What a gzip stream holds; None where it is damaged."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return None


def _inverted(content: bytes) -> bytes:
    return bytes(b ^ 0xFF for b in content)


def _largest(archive: bytes) -> tuple[int, int]:
    """Where the largest member begins and ends: a regular file in every archive."""
    starts = boundaries(archive)
    return max(pairwise(starts), key=lambda span: span[1] - span[0])


def _cut_at_member(archive: bytes) -> bytes:
    starts = boundaries(archive)
    return archive[: starts[(len(starts) - 1) // 2 + len(starts) % 2]]


def _insert_zeros(archive: bytes) -> bytes:
    starts = boundaries(archive)
    middle = starts[(len(starts) - 1) // 2]
    return archive[:middle] + bytes(1024) + archive[middle:]


def _insert_zeros_inside(archive: bytes) -> bytes:
    start, _ = _largest(archive)
    middle = start + 3 * BLOCK
    return archive[:middle] + bytes(1024) + archive[middle:]


def _remove_member(archive: bytes) -> bytes:
    start, end = _largest(archive)
    return archive[:start] + archive[end:]


def _rename_member(archive: bytes) -> bytes:
    start, _ = _largest(archive)
    block = bytearray(archive[start : start + BLOCK])
    block[0:100] = b"renamed".ljust(100, b"\0")
    return archive[:start] + seal(block) + archive[start + BLOCK :]


def _change_content(archive: bytes) -> bytes:
    start, end = _largest(archive)
    return flip(archive, (start + end) // 2)


def _dirty_padding(archive: bytes) -> bytes:
    end = boundaries(archive)[1]  # the first member is backup_label, shorter than a block
    return archive[: end - 1] + b"\1" + archive[end:]


def _seal_manifest(lines: bytes) -> bytes:
    digest = hashlib.sha256(lines).hexdigest().encode()
    return lines + b'"Manifest-Checksum": "' + digest + b'"}\n'


def _edit_sealed(manifest: bytes) -> bytes:
    body = manifest[: manifest.rindex(b'"Manifest-Checksum"')]
    return _seal_manifest(body.replace(b'"Size": 8192', b'"Size": 8193', 1))


def _drop_entry(manifest: bytes) -> bytes:
    body = manifest[: manifest.rindex(b'"Manifest-Checksum"')]
    return _seal_manifest(re.sub(rb'\{ "Path": "PG_VERSION".*\n', b"", body))


def remove_middle(generation: Path) -> None:
    """The first of two increments is gone."""
    shutil.rmtree(stage_paths(generation)[1])


def exchange_increments(generation: Path) -> None:
    """The two increments have each other's name."""
    _, first, second = stage_paths(generation)
    aside = generation / "aside"
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def forget_records(generation: Path) -> None:
    """As if the backups had been taken by hand: no stage has a record."""
    for record in generation.rglob(SIDECAR):
        record.unlink()
