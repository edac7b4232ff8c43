"""The body that Prometheus Alertmanager sends to its webhook receivers (version 4).

Source: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config
"""

from collections.abc import Mapping, Sequence
from typing import Any

NO_TIME = "0001-01-01T00:00:00Z"
"""How a Go program writes the end of what has not ended."""


def alertmanager_body(receiver: str, payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The group of alerts that ``payloads`` are; what is no alert becomes a firing one."""
    alerts = [_alert(payload) for payload in payloads]
    resolved = all(alert["status"] == "resolved" for alert in alerts)
    labels = _common([alert["labels"] for alert in alerts])
    return {
        "version": "4",
        "groupKey": "{}:{" + ", ".join(f'{k}="{v}"' for k, v in sorted(labels.items())) + "}",
        "truncatedAlerts": 0,
        "status": "resolved" if resolved else "firing",
        "receiver": receiver,
        "groupLabels": {"alertname": labels["alertname"]} if "alertname" in labels else {},
        "commonLabels": labels,
        "commonAnnotations": _common([alert["annotations"] for alert in alerts]),
        "externalURL": "",
        "alerts": alerts,
    }


def _alert(payload: Mapping[str, Any]) -> dict[str, Any]:
    name = payload.get("rule") or payload.get("job") or payload.get("metric") or "leitstand"
    given = payload.get("labels")
    labels = {str(k): str(v) for k, v in given.items()} if isinstance(given, Mapping) else {}
    told = ("description", "value", "threshold", "message", "status")
    facts = {key: str(payload[key]) for key in told if payload.get(key) not in (None, "")}
    return {
        "status": "resolved" if payload.get("state") == "resolved" else "firing",
        "labels": {**labels, "alertname": str(name)},
        "annotations": facts,
        "startsAt": payload.get("since") or NO_TIME,
        "endsAt": payload.get("ended") or NO_TIME,
        "generatorURL": "",
        "fingerprint": str(payload.get("fingerprint", "")),
    }


def _common(mappings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    first, *others = mappings
    return {k: v for k, v in first.items() if all(other.get(k) == v for other in others)}
