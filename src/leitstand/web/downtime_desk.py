"""What the API and the pages ask about downtimes; `app` opens the tables on first need."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # SQLAlchemy takes 0.3 s to load, which only those should pay who ask
    from leitstand.downtimes import Counts, DeadLetters, Views


class DowntimeDesk(Protocol):
    """The downtimes of a monitoring core. Every method raises what ``Target.prepare`` raises."""

    async def views(self) -> "Views":
        """Answers questions from the tables."""

    async def dead_letters(self) -> "DeadLetters":
        """The messages that could not be used."""

    async def replay(self, letter_id: int) -> "Counts":
        """Take a dead letter in again. Raises NotFoundError."""
