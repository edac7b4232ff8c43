"""Makes revisions of the rows of a database, whatever types its columns have, and pages of them."""

from collections.abc import Sequence
from itertools import groupby, islice, repeat
from operator import itemgetter, lt
from typing import Any

from leitstand.archive.integrity.revision import Revision, RevisionPage
from leitstand.archive.integrity.storage_key import key_bytes


def revisions_of(rows: Sequence[Any]) -> list[Revision]:
    """Rows (storage_key, document_id, id, and checksum_sha256 if it was asked for).

    Column by column, which is quicker than a call for each row.
    """
    if not rows:
        return []
    keys, documents, ids, *checksums = zip(*rows, strict=True)
    sums = map(_checksum, checksums[0]) if checksums else repeat(None)
    fields = zip(map(key_bytes, keys), documents, ids, sums, strict=False)
    return list(map(Revision._make, fields))


def _checksum(value: object) -> str | None:
    """64 hexadecimal digits, from text or bytes; other text is kept, as it belongs in a finding."""
    if isinstance(value, str):  # nearly always
        return value.strip().lower() or None
    if value is None:
        return None
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        value = raw.hex() if len(raw) == 32 else raw.decode("utf-8", "backslashreplace")
    return str(value).strip().lower() or None


def start_of_last(revisions: list[Revision]) -> int:
    """Where the rows of the last key begin."""
    last, index = revisions[-1].storage_key, len(revisions) - 1
    while index and revisions[index - 1].storage_key == last:
        index -= 1
    return index


def page_of(revisions: list[Revision]) -> RevisionPage:
    """A page of ordered revisions; of several with one key the one with the least numbers."""
    keys = [revision.storage_key for revision in revisions]
    if all(map(lt, keys, islice(keys, 1, None))):
        return RevisionPage(keys, revisions)
    once = [min(rows, key=numbers) for _, rows in groupby(revisions, key=itemgetter(0))]
    return RevisionPage([revision.storage_key for revision in once], once)


def numbers(revision: Revision) -> tuple[str, str, str, str]:
    """Orders revisions of one key; numbers by their size, text by its letters."""
    document, number = str(revision.document_id), str(revision.revision_id)
    return document.rjust(40), document, number.rjust(40), number
