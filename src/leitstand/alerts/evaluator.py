"""Evaluates all rules over a page of metrics; states, messages and events are one transaction."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import structlog

from leitstand.alerts.alert import AlertState, Known, Phase
from leitstand.alerts.alert_events import (
    Listened,
    alert_events,
    nobody_listens,
    of_alerts,
)
from leitstand.alerts.alert_ledger import AlertKey, AlertLedger, Decision
from leitstand.alerts.downtimes import (
    NoPlaceDowntimes,
    Place,
    PlaceDowntimes,
    downtimes_of,
    place_of,
)
from leitstand.alerts.metric_page import MetricPage
from leitstand.alerts.rule import AlertRule, AlertSpec
from leitstand.alerts.rule_ledger import RuleLedger
from leitstand.alerts.sighting import Sighting, sightings, unseen
from leitstand.alerts.silence import Silence, silenced_by
from leitstand.alerts.silence_ledger import SilenceLedger
from leitstand.alerts.transition import Notice, Sight, Step, transition
from leitstand.alerts.verdict import Evaluation, Verdict, payload
from leitstand.events import EventQueue, NewEvent
from leitstand.notifications import Addressee, Draft, Outbox
from leitstand.store.database import Connection, Database

log = structlog.get_logger(__name__)

TOPIC = "alert"
"""The channel of all notifications of alerts."""

MOST_TOLD = 20
"""Message ids of an episode that are kept, to tell their recipients of its end; more only if so
many were told at once.
"""

Audience = Mapping[str, Sequence[str]]
"""Who stands for a recipient's name, such as ``default``."""


@dataclass(frozen=True)
class _Muting:
    """Why alerts are silent: silences that people made, and downtimes of what they are about."""

    silences: Sequence[Silence]
    downtimes: Mapping[Place, str]
    now: datetime

    def reason(self, rule: str, labels: Mapping[str, str]) -> str | None:
        place = place_of(labels) if self.downtimes else None
        if place is not None and place in self.downtimes:
            return f"in downtime: {self.downtimes[place]}"
        if self.silences:
            return silenced_by(self.silences, rule, labels, self.now)
        return None


class _Outcome(NamedTuple):
    """What was decided about one series, on the alert that was known of it."""

    seen: Sighting
    before: Known | None
    step: Step

    @property
    def key(self) -> AlertKey:
        return self.seen.rule.id, self.seen.fingerprint

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        before = self.before.state if self.before else None
        return before is not self.step.state and before != self.step.state

    @property
    def is_news(self) -> bool:
        """Whether people are told that an episode began, or ended; not again that it goes on."""
        told_before = self.before is not None and bool(self.before.state.told)
        return self.step.notice is Notice.RESOLVED or (
            self.step.notice is Notice.FIRING and not told_before
        )

    def decision(self, drafts: Sequence[Draft]) -> Decision:
        """The state to write; who is told that it fires is remembered for its end."""
        state = self.step.state
        if self.step.notice is Notice.FIRING:
            told = (*state.told, *(draft.message_id for draft in drafts))
            state = replace(state, told=told[-max(MOST_TOLD, len(drafts)) :])
        rule_id, fingerprint = self.key
        version = self.before.version if self.before else 0
        return Decision(rule_id, fingerprint, self.seen.labels, self.seen.value, version, state)

    def verdict(self, *, won: bool = True) -> Verdict:
        notice, step = self.step.notice, self.step
        told = won and notice is not None
        return Verdict(
            rule=self.seen.rule,
            fingerprint=self.seen.fingerprint,
            labels=self.seen.labels,
            value=self.seen.value,
            phase=step.state.phase,
            suppressed=not told and step.state.phase is not Phase.PENDING,
            reason=step.reason if won else "another server has just decided about it",
        )


@dataclass(frozen=True)
class Evaluator:
    """Any number may evaluate at the same time: each change is made, and told, by one of them."""

    database: Database
    rules: RuleLedger
    alerts: AlertLedger
    silences: SilenceLedger
    outbox: Outbox
    audience: Audience = field(default_factory=dict)
    downtimes: PlaceDowntimes = field(default_factory=NoPlaceDowntimes)
    listened: Listened = nobody_listens

    async def evaluate(
        self, page: MetricPage, *, now: datetime | None = None, dry_run: bool = False
    ) -> Evaluation:
        """Look at every series of every enabled rule, and tell people what they should know.

        ``now`` is the database's clock unless given. With ``dry_run`` nothing is written and
        nobody told: the verdicts say what would be. Raises DatabaseUnavailableError.
        """
        now = now or await self.alerts.now()
        rules = [rule for rule in await self.rules.list_all() if rule.spec.enabled]
        outcomes = await self._outcomes(rules, page, now)
        if dry_run:
            return Evaluation(tuple(outcome.verdict() for outcome in outcomes))
        changed = [o for o in outcomes if o.changes]
        written = await self._write(changed, now)
        lost = {o.key for o in changed} - written
        verdicts = (o.verdict(won=o.key not in lost) for o in outcomes)
        return Evaluation(tuple(verdicts))

    async def preview(self, spec: AlertSpec, page: MetricPage) -> Evaluation:
        """What a rule would say now, whether it is enabled or saved or not; nothing is written.

        It counts as the one of its name, if there is one: so what fires already goes on firing.
        """
        same = [rule.id for rule in await self.rules.list_all() if rule.name == spec.full_name]
        rule = AlertRule(same[0] if same else 0, spec)
        outcomes = await self._outcomes([rule], page, await self.alerts.now())
        return Evaluation(tuple(outcome.verdict() for outcome in outcomes))

    async def _outcomes(
        self, rules: Sequence[AlertRule], page: MetricPage, now: datetime
    ) -> list[_Outcome]:
        known = await self.alerts.of_rules([rule.id for rule in rules])
        seen, left = await asyncio.to_thread(_look, rules, page, known)
        seen += await self._unseen(rules, page, left)
        muting = await self._muting(seen, now)
        return await asyncio.to_thread(lambda: list(_decide(seen, known, muting)))

    async def _unseen(
        self, rules: Sequence[AlertRule], page: MetricPage, left: Collection[AlertKey]
    ) -> list[Sighting]:
        """The active series that the page does not show."""
        by_id = {rule.id: rule for rule in rules}
        labels = await self.alerts.labels_of(left)
        return [
            Sighting(by_id[key[0]], key[1], each, None, unseen(by_id[key[0]], page))
            for key, each in labels.items()
            if key in left
        ]

    async def _muting(self, seen: Sequence[Sighting], now: datetime) -> _Muting:
        violating = (each for each in seen if each.sight is Sight.VIOLATES)
        places = {place for each in violating if (place := place_of(each.labels))}
        silences = await self.silences.list_all()
        return _Muting(silences, await downtimes_of(self.downtimes, places), now)

    async def _write(self, outcomes: Sequence[_Outcome], now: datetime) -> set[AlertKey]:
        """Write the states, and for those that were written tell people and jobs, all in one."""
        if not outcomes:
            return set()
        listened = of_alerts(await self.listened()) if any(o.is_news for o in outcomes) else set()
        async with self.database.transaction(deadline=30) as connection:
            drafts = await self._drafts(connection, outcomes, now)
            decisions = [outcome.decision(drafts[outcome.key]) for outcome in outcomes]
            written = await self.alerts.advance_in(connection, decisions)
            told = [draft for o in outcomes if o.key in written for draft in drafts[o.key]]
            await self.outbox.enqueue_in(connection, told)
            if listened:
                news = (o for o in outcomes if o.is_news and o.key in written)
                await self._raise_events(connection, news, now, listened)
        return written

    async def _raise_events(
        self,
        connection: Connection,
        news: Iterable[_Outcome],
        now: datetime,
        listened: Collection[str],
    ) -> None:
        events: list[NewEvent] = []
        for outcome in news:
            events.extend(alert_events(_told(outcome, now), now, listened))
        if events:
            await EventQueue(self.database).emit_in(connection, events)

    async def _drafts(
        self, connection: Connection, outcomes: Sequence[_Outcome], now: datetime
    ) -> dict[AlertKey, list[Draft]]:
        ended = [o for o in outcomes if o.step.notice is Notice.RESOLVED and o.before]
        ids = [message for o in ended if o.before for message in o.before.state.told]
        addressees = await self.outbox.addressees_in(connection, ids) if ids else {}
        drafts = defaultdict[AlertKey, list[Draft]](list)
        for outcome in outcomes:
            if outcome.step.notice is Notice.FIRING:
                people = self._people(outcome.seen.rule)
            elif outcome.step.notice is Notice.RESOLVED and outcome.before is not None:
                told = [addressees[m] for m in outcome.before.state.told if m in addressees]
                people = _reached(told) if told else self._people(outcome.seen.rule)
            else:
                continue
            drafts[outcome.key] = [_draft(outcome, person, now) for person in people]
        return drafts

    def _people(self, rule: AlertRule) -> Sequence[str]:
        """One row is one recipient."""
        recipient = rule.spec.recipient
        return tuple(dict.fromkeys(self.audience.get(recipient) or (recipient,)))


def _look(
    rules: Sequence[AlertRule], page: MetricPage, known: Mapping[AlertKey, Known]
) -> tuple[list[Sighting], set[AlertKey]]:
    """What is seen, and which active series are not."""
    left = {key for key, each in known.items() if each.state.phase is not Phase.RESOLVED}
    active: dict[int, set[str]] = defaultdict(set)
    for rule_id, mark in left:
        active[rule_id].add(mark)
    seen = sightings(rules, page, active)
    return seen, left.difference((each.rule.id, each.fingerprint) for each in seen)


def _decide(
    seen: Sequence[Sighting], known: Mapping[AlertKey, Known], muting: _Muting
) -> Iterator[_Outcome]:
    for each in seen:
        before = known.get((each.rule.id, each.fingerprint))
        violates = each.sight is Sight.VIOLATES
        muted = muting.reason(each.rule.name, each.labels) if violates else None
        state = before.state if before else None
        step = transition(each.rule.spec, state, each.sight, muting.now, muted)
        if step is not None:
            yield _Outcome(each, before, step)


def _reached(told: Sequence[Addressee]) -> list[str]:
    """Whoever was told that it fires, or will be; not those whom that never reached."""
    return list(dict.fromkeys(each.recipient for each in told if each.reached))


def _draft(outcome: _Outcome, recipient: str, now: datetime) -> Draft:
    return Draft(TOPIC, recipient, _told(outcome, now), group=outcome.seen.rule.spec.group)


def _told(outcome: _Outcome, now: datetime) -> dict[str, Any]:
    """What is told of it, to people and jobs alike."""
    notice = outcome.step.notice
    assert notice is not None  # noqa: S101 -- only those are told
    before: AlertState | None = outcome.before.state if outcome.before else None
    began = before.since if before and notice is Notice.RESOLVED else outcome.step.state.since
    return payload(outcome.verdict(), notice, began, now)
