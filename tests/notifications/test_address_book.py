"""Who can be written to by name, and what a test message is."""

import pytest

from leitstand.errors import NotFoundError
from leitstand.notifications import AddressBook, Contact

BOOK = AddressBook(
    {
        "night": Contact("night", "tgram://123:hidden/chat"),
        "hook": Contact("hook", "https://hooks.example/hidden", secret="hidden"),
        "odd": Contact("odd", "nowhere"),
    },
    {"default": ["ops@example.org", "hook", "ops@example.org"]},
)


def test_names_are_listed_without_secrets() -> None:
    """Case 44: a token may stand anywhere in a URL."""
    entries = {entry.name: entry.as_dict() for entry in BOOK.entries()}
    assert list(entries) == ["default", "hook", "log", "night", "odd"]
    assert {name: each["transport"] for name, each in entries.items()} == {
        "default": None,
        "hook": "webhook",
        "log": "log",
        "night": "apprise",
        "odd": None,
    }
    assert entries["hook"]["signed"]
    assert "hidden" not in str(entries)


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("default", [("email", "ops@example.org"), ("webhook", "hook")]),
        ("night", [("apprise", "night")]),
        ("log", [("log", "log")]),
        ("odd", [("alert", "odd")]),
    ],
)
def test_a_test_goes_to_each_once_by_its_own_way(name: str, ways: list[tuple[str, str]]) -> None:
    drafts = BOOK.tests(name, "ann")
    assert [(draft.channel, draft.recipient) for draft in drafts] == ways
    assert {draft.payload["asked_by"] for draft in drafts} == {"ann"}


@pytest.mark.parametrize("name", ["nobody", "ops@example.org", "https://hooks.example/x"])
def test_only_names_are_tested(name: str) -> None:
    with pytest.raises(NotFoundError):
        BOOK.tests(name, "ann")


def test_an_audience_of_nobody_gets_its_name_tried() -> None:
    (draft,) = AddressBook(audience={"default": []}).tests("default", "ann")
    assert draft.recipient == "default"
