"""The program that hands one message to Apprise, in a process that can be killed.

Apprise blocks, and leaves its threads behind when it is not waited for. What it is to send comes
as JSON on standard input; what it logs goes to standard output for the parent, which masks it.
"""

import json
import logging
import sys

from apprise import Apprise, AppriseAsset

from leitstand.notifications.apprise_exit import AppriseExit


def main() -> AppriseExit:
    """Send the message; the exit code says what came of it."""
    given = json.load(sys.stdin)
    # Its DEBUG lines hold tokens and headers.
    logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(message)s")
    logging.getLogger("apprise").setLevel(logging.WARNING)
    asset = AppriseAsset(
        app_id="Leitstand",
        async_mode=False,
        http_redirects=False,
        secure_logging=True,
        storage_mode="memory",
    )
    service = Apprise(asset=asset)
    if not service.add(given["url"]):
        return AppriseExit.NOT_UNDERSTOOD
    taken = service.notify(body=given["body"], title=given["title"])
    return AppriseExit.DELIVERED if taken else AppriseExit.NOT_DELIVERED


if __name__ == "__main__":
    sys.exit(main())
