"""An S3 server as an object store."""

from dataclasses import replace

import obstore
import pytest
from obstore.store import from_url

from leitstand.archive.integrity.reconcile import reconcile
from leitstand.archive.integrity.remote_store import RemoteAddress, RemoteStore
from leitstand.archive.integrity.store import (
    ObjectFacts,
    ObjectMissingError,
    StoreUnreachableError,
)
from leitstand.errors import UsageError
from tests.archive.integrity.document_scene import AT_ONCE, Documents
from tests.archive.integrity.s3_server import SECRET_KEY, S3Server

STRANGE = ["a.b", "a/x", "a-b/y", "A.bin", "a.bin", "ü%20 +x", "q?x#y", 'quote"', "é", "~", "<x>"]


def put(address: RemoteAddress, names: list[str], content: bytes = b"content") -> None:
    options = {"allow_http": True}
    store = from_url(address.url, config=address.config(), client_options=options)  # type: ignore[call-overload]
    for name in names:
        obstore.put(store, name, content)


async def listed(store: RemoteStore) -> list[bytes]:
    return [key async for page in store.listing().pages() for key in page]


async def test_keys_come_in_byte_order_and_can_be_read(s3: S3Server) -> None:
    address = s3.address("strange/some/prefix")
    put(address, STRANGE)
    store = RemoteStore(address)
    keys = sorted(name.encode() for name in STRANGE)
    assert await listed(store) == keys
    facts = await store.look([*keys, b"nothing", b"\xff", b"new\nline"])
    assert all(isinstance(facts[key], ObjectFacts) for key in keys)
    assert facts[b"nothing"] is facts[b"\xff"] is facts[b"new\nline"] is None
    assert b"".join(store.read(keys[0])) == b"content"
    with pytest.raises(ObjectMissingError):
        list(store.read(b"nothing"))


async def test_reconcile_over_several_answers(s3: S3Server, documents: Documents) -> None:
    """More keys than one answer of the server holds."""
    (s3.root / "many/x/z").mkdir(parents=True)
    address = s3.address("many/x")
    for number in range(2100):
        (s3.root / "many/x" / f"{'z/' if number % 2 else ''}{number:05}").touch()
    documents.execute(
        "INSERT INTO file_revisions SELECT n, n, CASE WHEN n % 2 = 1 THEN 'z/' ELSE '' END"
        " || lpad(n::text, 5, '0') FROM generate_series(1, 2100) AS n"
    )
    async with documents.table() as table:
        result = await reconcile(table, RemoteStore(address), AT_ONCE)
    assert [row.storage_key for row in result.missing.first] == [b"02100"]
    assert [row.storage_key for row in result.orphaned.first] == [b"00000"]
    assert result.existing.count == 2099


async def test_what_cannot_be_reached_is_said_without_secrets(s3: S3Server) -> None:
    address = s3.address("locked")
    wrong = (
        replace(address, secret_key="not-" + SECRET_KEY),
        replace(address, url="s3://nowhere/x"),
        replace(address, endpoint="http://127.0.0.1:9"),
    )
    for each in wrong:
        with pytest.raises(StoreUnreachableError) as caught:
            await listed(RemoteStore(each))
        assert caught.value.detail
        assert SECRET_KEY not in f"{caught.value.as_dict()} {each!r}"
    with pytest.raises(UsageError):
        RemoteStore(RemoteAddress("ftp://host/path"))
