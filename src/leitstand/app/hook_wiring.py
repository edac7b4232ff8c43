"""Webhooks in, as the settings want them."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from pydantic import SecretStr

from leitstand.errors import UsageError
from leitstand.events import EventQueue
from leitstand.events.webhooks import Hook, Intake, signing_key, token_digest
from leitstand.settings import HookSettings, Settings


def make_intake(settings: Settings, events: EventQueue) -> Intake:
    """What takes calls in; raises UsageError for what ``hook_checks`` finds."""
    return Intake([_hook(each) for each in settings.hook], events)


def named_hooks(settings: Settings) -> list[Hook]:
    """The hooks by what the catalogue says of them, without their secrets."""
    return [Hook(each.name, description=each.description) for each in settings.hook]


def hook_checks(hooks: Sequence[HookSettings]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Keys of the configuration, and what raises UsageError where their value cannot be used."""
    names = [hook.name for hook in hooks]
    for index, hook in enumerate(hooks):
        place = f"hook[{index}]"
        yield f"{place}.name", partial(_check_name, hook.name, names[:index])
        yield place, partial(_check_provable, hook)
        for key, read in (("secret", signing_key), ("token", token_digest)):
            for name in (key, f"old_{key}"):
                if given := _revealed(getattr(hook, name)):
                    yield f"{place}.{name}", partial(read, given[0])


def _hook(given: HookSettings) -> Hook:
    return Hook(
        name=given.name,
        keys=tuple(map(signing_key, _revealed(given.secret, given.old_secret))),
        tokens=tuple(map(token_digest, _revealed(given.token, given.old_token))),
        tolerance=given.tolerance,
        tenant=given.tenant,
        description=given.description,
    )


def _revealed(*secrets: SecretStr) -> list[str]:
    """Those that are given."""
    return [text for secret in secrets if (text := secret.get_secret_value())]


def _check_name(name: str, before: Sequence[str]) -> None:
    if not name or name in before:
        raise UsageError("a hook has a name of its own", remedy="It is called as /hooks/NAME.")


def _check_provable(hook: HookSettings) -> None:
    if not _revealed(hook.secret, hook.token):
        raise UsageError(
            "it has neither secret nor token",
            remedy="Whoever calls has to prove it: give it one of them.",
        )
