"""Events as the settings want them: which can happen, and who produces them."""

from leitstand.events import Catalogue, outcome_entries
from leitstand.settings import Settings


def event_catalogue(settings: Settings) -> Catalogue:
    """The events that can happen in this installation."""
    return Catalogue(outcome_entries())
