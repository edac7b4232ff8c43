"""Finds the backup that an increment has to build on, or the reason why only a full one will do."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from leitstand.archive.postgres.basebackup import IncrementalNeedsFullError
from leitstand.archive.postgres.catalogue import (
    Generation,
    GenerationState,
    StageEntry,
    newest_of,
)
from leitstand.archive.postgres.connection import ServerFacts, Source
from leitstand.archive.postgres.lsn import parse_lsn
from leitstand.archive.postgres.regular_file import ArchiveUnreadableError, open_regular
from leitstand.archive.postgres.stage import MANIFEST, SIDECAR, StageRecord

_SHOWN = 3


class NoGenerationError(IncrementalNeedsFullError):
    """There is no generation that an increment could belong to."""

    code = "BACKUP_NO_GENERATION"


def find_parent(
    generations: Sequence[Generation], facts: ServerFacts, source: Source
) -> Generation:
    """The generation whose last stage is the parent; raises IncrementalNeedsFullError.

    It is always the newest one that holds a backup. Its files are compared with their records as
    far as that is cheap: the sizes of all, the content of those that were touched since they were
    last verified.
    """
    newest = newest_of(generations)
    if newest is None:
        raise NoGenerationError(
            "there is no full backup yet that an increment could follow",
            remedy="Run leitstand backup postgres full first.",
        )
    reason = _unfit(newest, facts) or _touched(newest)
    if reason is not None:
        raise _needs_full(reason)
    parent = newest.stages[-1].record
    assert parent is not None  # noqa: S101 - the generation is complete
    if source.summaries_missing(parent.timeline, parent.start_lsn):
        raise _needs_full(
            "the server has no unbroken WAL summaries since the newest backup (summarize_wal was"
            " off, or they are older than wal_summary_keep_time)"
        )
    return newest


def chain_of(generation: Generation) -> tuple[StageRecord, ...]:
    """The records of all its stages; call it for complete generations."""
    return tuple(stage.record for stage in generation.stages if stage.record is not None)


def _needs_full(reason: str) -> IncrementalNeedsFullError:
    return IncrementalNeedsFullError(
        f"no increment is possible: {reason}", remedy="Run leitstand backup postgres full."
    )


def _unfit(newest: Generation, facts: ServerFacts) -> str | None:
    """Why ``newest`` cannot be continued, by what records and server say."""
    if newest.state is not GenerationState.COMPLETE:
        problems = "; ".join(found.sentence for found in newest.findings[:_SHOWN])
        return f"the newest generation {newest.id} is {newest.state.value}: {problems}"
    if newest.system_identifier != facts.system_identifier:
        return (
            f"the server is the system {facts.system_identifier}, the newest generation"
            f" {newest.id} comes from {newest.system_identifier}"
        )
    parent = chain_of(newest)[-1]
    if parent.timeline != facts.timeline:
        return f"the server went from time line {parent.timeline} to {facts.timeline}"
    if parent.history is None or parent.history != facts.history:
        return "the server was restored since the newest backup, or is a copy of the one it is of"
    if parse_lsn(parent.end_lsn) > parse_lsn(facts.lsn):
        return (
            f"the server stands at {facts.lsn}, before the end of the newest backup at"
            f" {parent.end_lsn}; it was restored, or is a standby that lags behind"
        )
    return None


def _touched(generation: Generation) -> str | None:
    """A file whose content differs from its record, among those touched since it was verified.

    Touched: its status changed after that of the record (both written when the backup was taken,
    the record last) and after the newest verification. Whoever copies a repository has everything
    read once per increment until the next verification; what rots without a trace is for verify.
    """
    verified = generation.verified_at
    for stage in generation.stages:
        for path, expected in _suspects(stage, verified):
            try:
                with os.fdopen(open_regular(path), "rb") as file:
                    actual = hashlib.file_digest(file, "sha256").hexdigest()
            except ArchiveUnreadableError as error:
                return f"{path} cannot be used: {error.message}"
            except OSError as error:
                return f"{path} cannot be read: {error.strerror}"
            if actual != expected:
                return f"{path} was changed since it was written"
    return None


def _suspects(stage: StageEntry, verified: datetime | None) -> Iterator[tuple[Path, str]]:
    record = stage.record
    if record is None:
        return
    expected = {name: digest.sha256 for name, digest in record.files.items()}
    expected[MANIFEST] = record.manifest_sha256
    since = os.stat(stage.path / SIDECAR).st_ctime_ns
    if verified is not None:
        since = max(since, int((verified - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1e9))
    for name, digest in expected.items():
        path = stage.path / name
        if os.stat(path).st_ctime_ns > since:
            yield path, digest
