"""Tells people how runs ended; the only code that reads and writes the table job_troubles."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leitstand.jobs import EndedRun, RunStatus
from leitstand.notifications.notification import Draft
from leitstand.notifications.notify_rule import TROUBLE, NotifyRule
from leitstand.notifications.outbox import Outbox
from leitstand.store.database import Connection, load_queries
from leitstand.store.jsonb import json_text

queries = load_queries(__file__)

TOPIC = "job"
"""The channel of all notifications about runs."""

Told = tuple[str, str]
"""A job and a recipient."""


class JobNews:
    """Watches outcomes. A notification exists if and only if the outcome is written."""

    def __init__(
        self, outbox: Outbox, rules: Sequence[NotifyRule], audience: Mapping[str, Sequence[str]]
    ) -> None:
        self._outbox = outbox
        self._rules = rules
        self._audience = audience

    async def ended_in(self, connection: Connection, runs: Sequence[EndedRun]) -> None:
        """Queue what people should hear of these runs, in the caller's transaction.

        Any number of servers may tell at once: the row of job and recipient decides.
        """
        drafts = [
            *await self._trouble(connection, [run for run in runs if run.status in TROUBLE]),
            *await self._well(connection, [r for r in runs if r.status is RunStatus.SUCCEEDED]),
            *self._other(run for run in runs if run.status not in TROUBLE),
        ]
        await self._outbox.enqueue_in(connection, drafts)

    async def _trouble(self, connection: Connection, runs: Iterable[EndedRun]) -> list[Draft]:
        news: dict[Told, tuple[EndedRun, NotifyRule]] = {}
        for run in runs:
            for rule, recipient in self._hearers(run):
                news[run.job, recipient] = run, rule
        if not news:
            return []
        documents = [
            {
                "job": job,
                "recipient": recipient,
                "status": run.status,
                "run_id": run.id,
                "repeat": rule.repeat,
            }
            for (job, recipient), (run, rule) in news.items()
        ]
        rows = queries.trouble(connection, news=json_text(documents))
        fresh = {(row["job"], row["recipient"]) async for row in rows}
        return [_draft(key[1], _payload(news[key][0])) for key in news if key in fresh]

    async def _well(self, connection: Connection, runs: Sequence[EndedRun]) -> list[Draft]:
        last = {run.job: run for run in runs}
        if not last:
            return []
        rows = queries.over(connection, jobs=list(last))
        return [
            _draft(
                row["recipient"],
                {**_payload(last[row["job"]]), "status": "recovered", "after": row["status"]},
            )
            async for row in rows
            if self._wants_recovery(last[row["job"]], row["recipient"])
        ]

    def _other(self, runs: Iterable[EndedRun]) -> list[Draft]:
        """Ends that are no trouble, where a rule asks for them."""
        return [
            _draft(recipient, _payload(run))
            for run in runs
            for recipient in dict.fromkeys(each for _, each in self._hearers(run))
        ]

    def _hearers(self, run: EndedRun) -> Iterable[tuple[NotifyRule, str]]:
        for rule in self._rules:
            if rule.concerns(run):
                yield from ((rule, person) for person in self._people(rule))

    def _people(self, rule: NotifyRule) -> list[str]:
        return [
            person for name in rule.recipients for person in self._audience.get(name) or (name,)
        ]

    def _wants_recovery(self, run: EndedRun, recipient: str) -> bool:
        """Unless the rules by which the recipient hears of this job's trouble say no."""
        deaf = [
            rule
            for rule in self._rules
            if not rule.recovery and rule.names(run) and recipient in self._people(rule)
        ]
        return not deaf


def _draft(recipient: str, payload: Mapping[str, Any]) -> Draft:
    return Draft(TOPIC, recipient, payload)


def _payload(run: EndedRun) -> dict[str, Any]:
    return {
        "job": run.job,
        "status": run.status,
        "run": run.id,
        "kind": run.kind,
        "attempt": run.attempt,
        "scheduled_at": run.scheduled_at,
        "error_code": run.error_code,
        "message": run.error_message,
        "look": f"leitstand run show {run.id}",
    }
