"""What Prometheus' own tool says of a page of metrics."""

import subprocess


def promtool_says(page: bytes) -> str:
    """Its complaints, empty if there are none; it fails on what Prometheus would not read."""
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=page, capture_output=True, timeout=60, check=False
    )
    assert done.returncode in (0, 3), done.stderr.decode()
    return (done.stdout + done.stderr).decode()
