"""Object stores that are reached by URL: S3 and compatible ones, Azure, Google; through obstore."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import obstore
from obstore.exceptions import BaseError
from obstore.store import from_url

from leitstand.archive.integrity.storage_key import key_bytes, key_text
from leitstand.archive.integrity.store import (
    Gap,
    ListingNotes,
    ObjectFacts,
    ObjectMissingError,
    ObjectUnreadableError,
    StoreUnreachableError,
)
from leitstand.errors import UsageError
from leitstand.masking import mask_url

PAGE = 1_000
"""Keys of one answer of an S3 server."""

AT_ONCE = 16
"""Objects that are looked at at the same time."""

PIECE = 1024 * 1024
TRIES = 3
CLIENT = {
    "connect_timeout": "10s",
    "read_timeout": "30s",  # for each piece of a body
    "timeout": "24h",  # for a whole body, which may be of any size
}


@dataclass(frozen=True)
class RemoteAddress:
    """Where a store is; empty credentials are those of the environment (``AWS_…`` and so on)."""

    url: str
    endpoint: str = ""
    region: str = ""
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)

    def config(self) -> dict[str, str]:
        """What obstore is told beside the URL."""
        given = {
            "endpoint": self.endpoint,
            "region": self.region,
            "access_key_id": self.access_key,
            "secret_access_key": self.secret_key,
        }
        return {name: value for name, value in given.items() if value}


class RemoteStore:
    """The objects below a URL such as ``s3://bucket/prefix``; the key is the name below it."""

    def __init__(self, address: RemoteAddress) -> None:
        self.name = mask_url(address.url.partition("?")[0])
        self.tree: bytes | None = None
        self._hidden = [text for text in (address.secret_key, address.access_key) if text]
        try:
            self._store: Any = from_url(
                address.url,
                config=_any(address.config()),
                client_options=_any(
                    {**CLIENT, "allow_http": address.endpoint.startswith("http://")}
                ),
                retry_config=_any({"max_retries": TRIES}),
            )
        except (BaseError, ValueError) as error:
            raise UsageError(
                f"{self.name} is no object store that can be opened",
                detail=self.said(error),
                remedy="Set objects.store to a directory, or to a URL such as s3://bucket/prefix.",
            ) from None  # the error may repeat what it was given

    def listing(self) -> "RemoteListing":
        """See Store."""
        return RemoteListing(self)

    def stream(self) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """The listing as obstore gives it."""
        return aiter(obstore.list(self._store, chunk_size=PAGE))

    async def look(self, keys: Sequence[bytes]) -> dict[bytes, ObjectFacts | None]:
        """See Store."""
        found: dict[bytes, ObjectFacts | None] = {}
        waiting = iter(keys)

        async def work() -> None:
            for key in waiting:
                try:
                    found[key] = await self._facts(key)
                except ObjectUnreadableError:
                    continue

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return found

    async def _facts(self, key: bytes) -> ObjectFacts | None:
        try:
            facts = await obstore.head_async(self._store, _path(key))
        except (FileNotFoundError, ValueError):
            return None
        except BaseError as error:
            raise self._unreadable(key, error) from None
        return ObjectFacts(facts["size"], facts["last_modified"])

    def read(self, key: bytes) -> Iterator[bytes]:
        """See Store."""
        try:
            yield from obstore.get(self._store, _path(key)).stream(min_chunk_size=PIECE)
        except (FileNotFoundError, ValueError):
            raise ObjectMissingError(f"no object {key_text(key)}") from None
        except BaseError as error:
            raise self._unreadable(key, error) from None

    def _unreadable(self, key: bytes, error: Exception) -> ObjectUnreadableError:
        return ObjectUnreadableError(f"{key_text(key)} cannot be read: {self.said(error)}")

    def said(self, error: Exception) -> str:
        """The first line of an error, without secrets; the rest of it is debugging output."""
        text = mask_url(str(error).partition("\n")[0])
        for secret in self._hidden:
            text = text.replace(secret, "***")
        return text


class RemoteListing:
    """One walk through the keys, which these services give in byte order."""

    def __init__(self, store: RemoteStore) -> None:
        self.notes = ListingNotes()
        self._store = store

    async def pages(self) -> AsyncGenerator[list[bytes]]:
        """See Listing. A failure after the first page makes a gap of all that would have come."""
        last: bytes | None = None
        try:
            async for objects in self._store.stream():
                page = [key_bytes(each["path"]) for each in objects]
                last = page[-1] if page else last
                yield page
        except BaseError as error:
            said = self._store.said(error)
            if last is None:
                raise StoreUnreachableError(
                    f"the object store {self._store.name} cannot be listed",
                    detail=said,
                    remedy="See that objects.store, its endpoint, region and credentials are right",
                ) from None
            self.notes.add_gap(Gap(last + b"\0", None, said))


def _path(key: bytes) -> str:
    """A key as obstore takes it; ValueError for one that no such service can hold."""
    return key.decode("utf-8")


def _any(value: object) -> Any:  # noqa: ANN401 -- obstore types these by service, we have any
    return value
