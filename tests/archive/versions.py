"""Trees of which every file says which version it is, to see whether one is whole and unmixed."""

from pathlib import Path

from leitstand.archive.atomic import take_over_all
from leitstand.archive.fresh_directory import fresh_directory
from tests.forking import serve

FILES = 50


def make_version(tree: Path, version: str) -> None:
    """Files of ``version``, over those of another."""
    for number in range(FILES):
        path = tree / f"{number % 5}" / f"{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(version)


def version_of(tree: Path) -> str:
    """The version that ``tree`` is."""
    contents = [path.read_text() for path in tree.rglob("*") if path.is_file()]
    assert len(contents) == FILES
    assert len(set(contents)) == 1
    return contents[0]


def exchange_for_ever(target: str) -> str:
    """What every restore ends with, again and again."""
    while True:
        for version in ("a", "b"):
            with fresh_directory(Path(target)) as room:
                make_version(room / "tree", version)
                take_over_all([(room / "tree", Path(target))], replace=True)


if __name__ == "__main__":
    serve(exchange_for_ever)
