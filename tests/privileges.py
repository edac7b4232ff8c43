"""Runs a command with fewer rights than root has, whoever runs the tests.

An ordinary user may not even be able to reach Python, where that belongs to root; so rights are
taken away one by one. As an ordinary user all commands are run as they are.
"""

import os
from collections.abc import Sequence

from leitstand.store.account import Account

_READ_ANYTHING = ("dac_override", "dac_read_search")


def bound_by_modes(argv: Sequence[str]) -> list[str]:
    """As who we are, but the modes of files hold for us."""
    if os.geteuid() != 0:
        return list(argv)
    without = ",".join(f"-{each}" for each in _READ_ANYTHING)
    return ["setpriv", f"--bounding-set={without}", f"--inh-caps={without}", "--", *argv]


def owning_nothing(argv: Sequence[str], account: Account) -> list[str]:
    """As ``account``, who can read what it likes, but give nothing away."""
    if not account.switch:
        return list(argv)
    ids = [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    return ["setpriv", *ids, "--inh-caps=+dac_override", "--ambient-caps=+dac_override", *argv]
