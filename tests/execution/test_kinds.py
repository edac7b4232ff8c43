"""The kinds of an installation: those of other packages, whatever state these are in."""

from pathlib import Path

import pytest

from leitstand.errors import LeitstandError
from leitstand.execution import CommandExecutor, Kinds, third_party_executors

MODULE = """
from leitstand.execution import Isolation, Params, Result

class Good:
    kind, params, isolation = "good", Params, Isolation.INLINE
    async def execute(self, params, run, reporter):
        return Result()

class Bare:
    pass

class Sync(Good):
    kind = "sync"
    def execute(self, params, run, reporter):
        return Result()

class Untyped(Good):
    kind, params = "untyped", dict

class Raising(Good):
    def __init__(self):
        raise RuntimeError("no licence")
"""

ENTRIES = """[leitstand.executors]
good = kinds_of_a_test:Good
bare = kinds_of_a_test:Bare
sync = kinds_of_a_test:Sync
untyped = kinds_of_a_test:Untyped
raising = kinds_of_a_test:Raising
missing = kinds_of_a_test:Missing
no-module = no_such_module_of_a_test:Good
"""


def test_a_broken_package_costs_nobody_else_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "kinds_of_a_test.py").write_text(MODULE)
    info = tmp_path / "kinds_of_a_test-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kinds-of-a-test\nVersion: 1\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(str(tmp_path))
    kinds = Kinds(third_party_executors())
    assert list(kinds) == ["good"]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 6
    assert all("of the package kinds-of-a-test is unusable" in sentence for sentence in said)
    assert "'kind' must be text" in said[0]
    assert "no licence" in said[3]


def test_two_executors_for_one_kind_are_a_mistake() -> None:
    with pytest.raises(LeitstandError, match="two executors claim the job kind 'command'"):
        Kinds([CommandExecutor(), CommandExecutor()])
