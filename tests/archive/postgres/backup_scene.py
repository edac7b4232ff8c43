"""Takes two real generations of backups from a small PostgreSQL with everything that is awkward."""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from leitstand.archive.postgres.label import parse_label, parse_tablespace_map
from leitstand.archive.postgres.lsn import format_lsn
from leitstand.archive.postgres.manifest import parse_manifest
from leitstand.archive.postgres.stage import (
    BASE,
    MANIFEST,
    SIDECAR,
    FileDigest,
    Parent,
    StageKind,
    StageRecord,
    Tablespace,
)
from leitstand.archive.postgres.wal_check import needed_segments
from leitstand.store.account import server_account
from leitstand.store.binaries import Binaries, embedded_binaries
from leitstand.store.cluster import SUPERUSER, Cluster
from tests.archive.postgres.tar_writer import boundaries, read_gz

ODD_NAME = b"caf\xe9 \xff.dat"
FIRST, SECOND = "20261201T170000Z", "20261202T170000Z"
INCREMENTS = ("20261201T171500Z", "20261201T173000Z")
OTHER_INCREMENT = "20261202T171500Z"
SEGMENT = 1 << 20
ATTEMPTS = 20


@dataclass(frozen=True)
class Scene:
    """``generation`` has a full backup and two increments, ``other`` one increment."""

    generation: Path
    other: Path
    tablespace: str
    binaries: Binaries


def take_scene(top: Path) -> Scene:
    """Initialise a server below ``top``, take the backups, stop it and remove its data."""
    account, binaries = server_account(), embedded_binaries()
    places = {name: top / name for name in ("data", "socket", "table space")}
    for place in places.values():
        place.mkdir(mode=0o700)
        account.own(place)
    cluster = Cluster(places["data"], binaries, account)
    cluster.initialise()
    shrink_segments(cluster)
    _prepare_files(cluster)
    account.own_tree(places["data"])
    options = {"listen_addresses": "", "summarize_wal": "on", "fsync": "off"}
    cluster.start(places["socket"], top / "log", options)
    try:
        return _take_all(top, cluster, places)
    finally:
        cluster.stop()
        shutil.rmtree(places["data"])


def shrink_segments(cluster: Cluster) -> None:
    """Segments of 1 MiB, so that a backup has several of them and is still small."""
    subprocess.run(
        [cluster.binaries.path("pg_resetwal"), "--wal-segsize=1", str(cluster.data)],
        check=True,
        timeout=60,
        capture_output=True,
        cwd="/",
        **cluster.account.popen_options(),
    )


def _prepare_files(cluster: Cluster) -> None:
    cluster.data.joinpath("pg_hba.conf").write_text("local all,replication all trust\n")
    with open(os.fsencode(cluster.data) + b"/" + ODD_NAME, "wb") as odd:
        odd.write(b"odd")


def _take_all(top: Path, cluster: Cluster, places: dict[str, Path]) -> Scene:
    backups, conninfo = top / "backups", cluster.conninfo(places["socket"])
    with psycopg.connect(conninfo, autocommit=True) as connection:
        _drop_templates(connection)
        connection.execute(f"CREATE TABLESPACE room LOCATION '{places['table space']}'".encode())
        _fill(connection)
        parent = _take(connection, cluster, backups / FIRST / "full", FIRST, None)
        for increment in INCREMENTS:
            _change(connection)
            where = backups / FIRST / "incremental" / increment
            parent = _take(connection, cluster, where, increment, parent)
        parent = _take(connection, cluster, backups / SECOND / "full", SECOND, None)
        _change(connection)
        where = backups / SECOND / "incremental" / OTHER_INCREMENT
        _take(connection, cluster, where, OTHER_INCREMENT, parent)
    spaces = [p.name for p in (backups / FIRST / "full").glob("[0-9]*.tar.gz")]
    return Scene(backups / FIRST, backups / SECOND, spaces[0], cluster.binaries)


def _drop_templates(connection: psycopg.Connection) -> None:
    """Two thirds of the files of a new cluster, of which one third shows all there is to see."""
    connection.execute("UPDATE pg_database SET datistemplate = false")
    for name in ("template0", "template1"):
        connection.execute(f"DROP DATABASE {name}".encode())


def _fill(connection: psycopg.Connection) -> None:
    connection.execute(
        "CREATE TABLE numbers AS SELECT g, repeat('x', 50) FROM generate_series(1, 9999) g"
    )
    connection.execute("CREATE TABLE empty (id int)")
    connection.execute("CREATE UNLOGGED TABLE fleeting AS SELECT 1 AS one")
    connection.execute("CREATE TABLE elsewhere TABLESPACE room AS SELECT generate_series(1, 9999)")
    connection.execute("SELECT lo_from_bytea(0, repeat('large object', 5000)::bytea)")


def _change(connection: psycopg.Connection) -> None:
    connection.execute("UPDATE numbers SET g = g + 1 WHERE g % 7 = 0")
    connection.execute("INSERT INTO elsewhere SELECT generate_series(1, 100)")
    connection.execute("SELECT lo_from_bytea(0, repeat('another one', 500)::bytea)")


def _take(
    connection: psycopg.Connection, cluster: Cluster, where: Path, ident: str, parent: Path | None
) -> Path:
    """A backup that needs several WAL segments, without which some damage could not be done to it.

    One that nevertheless ended within the segment it began in is taken again.
    """
    for _ in range(ATTEMPTS):
        started = datetime.now(UTC)
        _base_backup(connection, cluster, where, parent)
        if len(segments_of(where)) > 1:
            write_record(where, ident, parent, started)
            return where
        shutil.rmtree(where)
    raise AssertionError("the backup never crossed the end of a WAL segment")


def segments_of(stage: Path) -> list[bytes]:
    """The names of the WAL segments that a stage needs, by its manifest."""
    (wal_range,) = parse_manifest((stage / MANIFEST).read_bytes()).wal_ranges
    return [segment.name(SEGMENT).encode() for segment in needed_segments(wal_range, SEGMENT)]


def _base_backup(
    connection: psycopg.Connection, cluster: Cluster, where: Path, parent: Path | None
) -> None:
    options = ["-Ft", "--compress=client-gzip:1", "-Xstream", "--checkpoint=fast", "--no-password"]
    if parent is not None:  # slowed down, or it is done before anybody has switched the segment
        options += [f"--incremental={parent / MANIFEST}", "--max-rate=8M"]
    where.parent.mkdir(parents=True, exist_ok=True)
    backup = subprocess.Popen(
        [cluster.binaries.path("pg_basebackup"), "-D", str(where), *options],
        env={"PGHOST": connection.info.host, "PGUSER": SUPERUSER, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
    )
    with backup:
        _keep_busy(connection, backup)
    assert backup.returncode == 0


def _keep_busy(connection: psycopg.Connection, backup: subprocess.Popen[bytes]) -> None:
    """Write WAL until ``backup`` ends, so that it needs several segments."""
    while backup.poll() is None:
        connection.execute("SELECT pg_logical_emit_message(true, 'test', repeat('busy', 9999))")
        connection.execute("SELECT pg_switch_wal()")
        try:
            backup.wait(0.04)
        except subprocess.TimeoutExpired:
            pass


def write_record(where: Path, ident: str, parent: Path | None, started: datetime) -> None:
    """Write ``backup.json`` for the archives as they are now."""
    manifest = parse_manifest((where / MANIFEST).read_bytes())
    small = small_files(where / BASE)
    label = parse_label(small[b"backup_label"])
    spaces = parse_tablespace_map(small.get(b"tablespace_map", b""))
    record = StageRecord(
        id=ident,
        kind=StageKind.FULL if parent is None else StageKind.INCREMENTAL,
        generation=where.parent.name if parent is None else where.parent.parent.name,
        parent=None if parent is None else _parent(parent),
        system_identifier=manifest.system_identifier or "",
        timeline=label.start.timeline,
        start_lsn=format_lsn(label.start.lsn),
        end_lsn=format_lsn(manifest.wal_ranges[-1].end),
        started_at=started,
        finished_at=datetime.now(UTC),
        postgres_version="18.6",
        manifest_sha256=manifest.sha256,
        files={path.name: _digest(path) for path in where.glob("*.tar.gz")},
        tablespaces=tuple(
            Tablespace(oid, os.fsdecode(place), f"{oid}.tar.gz") for oid, place in spaces.items()
        ),
    )
    (where / SIDECAR).write_text(record.to_json())


def small_files(base: Path) -> dict[bytes, bytes]:
    """The label and the tablespace map of a base archive."""
    content = read_gz(base)
    found = {}
    for start in boundaries(content)[:3]:
        name = content[start : start + 100].rstrip(b"\0")
        size = int(content[start + 124 : start + 135], 8)
        found[name] = content[start + 512 : start + 512 + size]
    return found


def _parent(parent: Path) -> Parent:
    record = StageRecord.from_json((parent / SIDECAR).read_bytes())
    return Parent(record.id, record.manifest_sha256)


def _digest(path: Path) -> FileDigest:
    content = path.read_bytes()
    return FileDigest(len(content), hashlib.sha256(content).hexdigest())
