"""Lets a part of a test run as an ordinary account, since root may read everything."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from leitstand.store.account import server_account


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be the servers' account for as long as the context lasts; nothing to do unless root."""
    account = server_account()
    if not account.switch:
        yield
        return
    os.seteuid(account.uid)
    try:
        yield
    finally:
        os.seteuid(0)
