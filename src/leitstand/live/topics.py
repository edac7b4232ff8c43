"""The topics that there are."""

RUNS = "runs"
"""Every change of a run's status."""

EVENTS = "events"
"""Events as they are stored."""

DOWNTIMES = "statusngin_downtimes"
"""The messages of a monitoring core about downtimes, as they came."""

TOPICS = frozenset({RUNS, EVENTS, DOWNTIMES})
