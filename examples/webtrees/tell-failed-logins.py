#!/usr/bin/env python3
"""Mails what webtrees has logged of failed logins; the event comes on standard input."""

import json
import subprocess
import sys

event = json.load(sys.stdin)
told = {
    "subject": f"Failed logins at webtrees: {event['count']}",
    "the last one": event["payload"]["log_message"],
    "since": event["first_at"],
    "until": event["last_at"],
}
# Leitstand's own queue: the mail goes out as soon as the mail server takes it.
send = ["leitstand", "notify", "send", "email", sys.argv[1], "--payload", json.dumps(told)]
subprocess.run(send, check=True)
