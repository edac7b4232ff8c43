"""The damages that a self-test plants in a copy of a stage; files are streamed, never held whole.

Two sorts. Of the first the record (``backup.json``) knows nothing, so digests alone give it away.
Of the second it does: the record is written anew with the damaged file's digest, as if the damage
had been there when the backup was taken. Then only the readers of gzip, tar and manifest can find
it.
"""

import gzip
import hashlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from leitstand.archive.postgres.stage import (
    MANIFEST,
    SIDECAR,
    WAL,
    FileDigest,
    Stage,
)
from leitstand.archive.postgres.tar_stream import BLOCK, TarReader
from leitstand.errors import LeitstandError

PIECE = 1 << 20
TRAILER = 8
"""Bytes at the end of a gzip member: CRC and size."""
ZEROS = 1024


class NothingToDamageError(LeitstandError):
    """The file has nothing of the sort that would be damaged."""

    code = "NOTHING_TO_DAMAGE"


@dataclass(frozen=True)
class Damage:
    """One way to break a file; ``recorded`` damages are put into the record, too."""

    name: str
    recorded: bool
    apply: Callable[[Path, random.Random], None]

    def plant(self, stage: Path, file: str, chance: random.Random) -> None:
        """Break ``file`` of the copy ``stage``, at places that ``chance`` chooses.

        Raises OSError, NothingToDamageError. The file is written to: it must be the copy's own.
        """
        self.apply(stage / file, chance)
        if self.recorded:
            _record_anew(stage, file)


def plantable(stage: Path) -> list[tuple[Damage, str]]:
    """Every damage with every file of the stage that it makes sense for, in a fixed order."""
    archives = sorted(path.name for path in stage.glob("*.tar.gz"))
    pairs = [(damage, name) for damage in (*ON_BYTES, *ON_GZIP, *ON_TAR) for name in archives]
    # Of the WAL, only what a recovery needs is covered once the record says that all is well.
    pairs += [(CONTENT, name) for name in archives if name != WAL]
    pairs += [(damage, MANIFEST) for damage in ON_BYTES]
    return [*pairs, (DIGIT, SIDECAR)]  # not its absence: backups without a record are accepted


def _flip(path: Path, chance: random.Random) -> None:
    _invert(path, chance.randrange(path.stat().st_size), chance)


def _truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _remove(path: Path, _: random.Random) -> None:
    path.unlink()


def _append(path: Path, chance: random.Random) -> None:
    with path.open("ab") as file:
        file.write(chance.randbytes(chance.randint(1, 64)))


def _cut_trailer(path: Path, _: random.Random) -> None:
    os.truncate(path, path.stat().st_size - TRAILER)


def _break_crc(path: Path, chance: random.Random) -> None:
    _invert(path, path.stat().st_size - TRAILER + chance.randrange(4), chance)


def _append_member(path: Path, _: random.Random) -> None:
    with path.open("ab") as file:
        file.write(gzip.compress(bytes(BLOCK)))


def _invert(path: Path, at: int, chance: random.Random) -> None:
    """Change some bits of one byte."""
    with path.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ chance.randint(1, 255)]))


def _change_digit(path: Path, chance: random.Random) -> None:
    """Any other byte of a record may mean nothing, such as white space."""
    text = path.read_text()
    at = chance.choice([at for at, character in enumerate(text) if character.isdecimal()])
    digit = (int(text[at]) + chance.randint(1, 9)) % 10
    path.write_text(f"{text[:at]}{digit}{text[at + 1 :]}")


@dataclass(frozen=True)
class _Member:
    """Where a member of a tar begins, how large its content is, where the next begins."""

    start: int
    size: int

    @property
    def content(self) -> int:
        return self.start + BLOCK

    @property
    def end(self) -> int:
        return self.content + self.size + -self.size % BLOCK


def _change_content(path: Path, chance: random.Random) -> None:
    """One byte of a file in the tar, packed again properly."""
    member = _any_member(path, chance)
    at = member.content + chance.randrange(member.size)

    def changed(source: gzip.GzipFile, target: gzip.GzipFile) -> None:
        _copy(source, target, at)
        (byte,) = source.read(1)
        target.write(bytes([byte ^ chance.randint(1, 255)]))
        _copy(source, target)

    _pack_again(path, changed)


def _cut_at_member(path: Path, chance: random.Random) -> None:
    """Everything after a member is gone, packed again properly: no program that reads tar minds."""
    end = _any_member(path, chance).end
    _pack_again(path, lambda source, target: _copy(source, target, end))


def _insert_zeros(path: Path, chance: random.Random) -> None:
    """Zeros between two members, packed again properly: to others that is the end."""
    start = _any_member(path, chance).start

    def zeroed(source: gzip.GzipFile, target: gzip.GzipFile) -> None:
        _copy(source, target, start)
        target.write(bytes(ZEROS))
        _copy(source, target)

    _pack_again(path, zeroed)


def _any_member(path: Path, chance: random.Random) -> _Member:
    """A member with content, each with the same chance, without keeping a list of them."""
    found: _Member | None = None
    for number, member in enumerate(_members(path), 1):
        if chance.randrange(number) == 0:
            found = member
    if found is None:
        raise NothingToDamageError(f"{path} holds no file with content")
    return found


def _members(path: Path) -> Iterator[_Member]:
    with gzip.open(path, "rb") as source:
        tar, at = TarReader(iter(lambda: source.read(PIECE), b"")), 0
        for entry in tar:
            for _ in tar.content():
                pass
            member = _Member(at, entry.size)
            if entry.size:
                yield member
            at = member.end


def _pack_again(path: Path, edit: Callable[[gzip.GzipFile, gzip.GzipFile], None]) -> None:
    """Have ``edit`` write the archive's tar anew, into a valid gzip stream in its place."""
    fresh = path.with_suffix(".new")
    with gzip.open(path, "rb") as source, gzip.open(fresh, "wb", compresslevel=1) as target:
        edit(source, target)
    fresh.replace(path)


def _copy(source: gzip.GzipFile, target: gzip.GzipFile, count: int | None = None) -> None:
    """``count`` bytes, or all that are left."""
    while count is None or count > 0:
        piece = source.read(PIECE if count is None else min(PIECE, count))
        if not piece:
            return
        target.write(piece)
        count = None if count is None else count - len(piece)


def _record_anew(stage: Path, file: str) -> None:
    record = Stage.read(stage).record
    if record is None:
        raise ValueError(f"{stage} has no record")
    with (stage / file).open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    size = (stage / file).stat().st_size
    files = {**record.files, file: FileDigest(size, digest)}
    (stage / SIDECAR).write_text(replace(record, files=files).to_json())


FLIPPED = Damage("a byte changed", False, _flip)
DIGIT = Damage("a digit changed", False, _change_digit)
ON_BYTES = (
    FLIPPED,
    Damage("cut off", False, _truncate),
    Damage("removed", False, _remove),
)
ON_GZIP = (
    Damage("bytes appended, and recorded", True, _append),
    Damage("cut off, and recorded", True, _truncate),
    Damage("gzip trailer cut off, and recorded", True, _cut_trailer),
    Damage("CRC changed, and recorded", True, _break_crc),
    Damage("gzip member appended, and recorded", True, _append_member),
)
ON_TAR = (
    Damage("tar cut off after a member, and recorded", True, _cut_at_member),
    Damage("zeros between members, and recorded", True, _insert_zeros),
)
CONTENT = Damage("content changed, and recorded", True, _change_content)
