"""Which objects `reconcile` and `scrub` look at: the configured ones, or the demonstration."""

from typing import Annotated

import typer

from leitstand.app.integrity_wiring import (
    demonstration,
    demonstration_settings,
    integrity_settings,
    looks_at_demonstration,
)
from leitstand.archive import IntegritySettings
from leitstand.cli.invocation import Invocation
from leitstand.errors import NotFoundError

DemoOption = Annotated[
    bool, typer.Option("--demo", help="Look at the demonstration (`leitstand demo archive`).")
]


def chosen_integrity(call: Invocation, *, demo: bool) -> IntegritySettings:
    """The settings to go by. Without any configuration it is the demonstration, if set up.

    Raises NotFoundError when the demonstration is asked for and is not there.
    """
    if demo:
        require_demonstration(call)
    if demo or looks_at_demonstration(call.settings):
        call.output.note("This is the demonstration; objects.store says where yours are.")
        return demonstration_settings(call.settings)
    return integrity_settings(call.settings)


def require_demonstration(call: Invocation) -> None:
    """Raise NotFoundError unless the demonstration is set up."""
    if not demonstration(call.settings).exists:
        raise NotFoundError(
            "there is no demonstration here", remedy="Set it up: leitstand demo archive"
        )
