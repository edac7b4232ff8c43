"""Who can be written to by name: contacts, the group ``default``, and the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leitstand.errors import NotFoundError
from leitstand.nearest import no_such
from leitstand.notifications.contact import Contact, Transport, transport_of
from leitstand.notifications.notification import Draft, shown_recipient

LOG = Transport.LOG.value


@dataclass(frozen=True)
class AddressEntry:
    """A name, and whom it reaches; ``reaches`` shows of a URL no more than its scheme."""

    name: str
    transport: Transport | None
    """None where the name stands for several, or where the target has none of the known forms."""
    reaches: tuple[str, ...]
    signed: bool = False
    """Whether its messages are signed with a secret of its own."""

    def as_dict(self) -> dict[str, Any]:
        """The entry's JSON shape."""
        return {
            "name": self.name,
            "transport": self.transport,
            "reaches": list(self.reaches),
            "signed": self.signed,
        }


@dataclass(frozen=True)
class AddressBook:
    """``contacts`` by name, and the ``audience``: who stands for a recipient's name."""

    contacts: Mapping[str, Contact] = field(default_factory=dict)
    audience: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def entries(self) -> list[AddressEntry]:
        """All names, in order."""
        return [self._entry(name) for name in sorted({*self.contacts, *self.audience, LOG})]

    def tests(self, name: str, asked_by: str) -> list[Draft]:
        """A test message for each whom the name reaches; raises NotFoundError for an unknown one.

        Only names are taken: whoever may ask for a test cannot have one sent to any address.
        """
        if name not in {entry.name for entry in self.entries()}:
            raise self._unknown(name)
        payload = {"message": "Test message from Leitstand", "asked_by": asked_by}
        people = self.audience.get(name) or (name,)
        return [Draft(self._channel(person), person, payload) for person in dict.fromkeys(people)]

    def _entry(self, name: str) -> AddressEntry:
        if name in self.audience:
            shown = tuple(shown_recipient(person) for person in self.audience[name])
            return AddressEntry(name, None, shown)
        contact = self.contacts.get(name, Contact(name, name))
        reaches = (shown_recipient(contact.target),)
        return AddressEntry(name, transport_of(contact.target), reaches, bool(contact.secret))

    def _channel(self, person: str) -> str:
        """The way to a recipient; one that has none fails as it would with an alert."""
        contact = self.contacts.get(person)
        return transport_of(contact.target if contact else person) or "alert"

    def _unknown(self, name: str) -> NotFoundError:
        names = [entry.name for entry in self.entries()]
        return no_such("contact", name, names, "Contacts are the [[contact]] tables.")
