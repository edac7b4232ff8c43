"""A server of the S3 protocol (``rclone serve s3``) on a directory; its buckets are directories."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from leitstand.archive.integrity.remote_store import RemoteAddress
from tests.execution.processes import until

ACCESS_KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET_KEY = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"  # no slash: rclone's parser

BUCKETS = ("strange", "many", "locked", "documents")
"""The server keeps what it has seen of a directory for minutes, so they exist from the start."""


@dataclass(frozen=True)
class S3Server:
    """A running server; ``root`` holds the buckets."""

    endpoint: str
    root: Path

    def address(self, path: str) -> RemoteAddress:
        """Where ``bucket/prefix`` is, with credentials."""
        return RemoteAddress(f"s3://{path}", self.endpoint, "us-east-1", ACCESS_KEY, SECRET_KEY)


def start_s3(directory: Path) -> tuple[S3Server, subprocess.Popen[bytes]]:
    """Start a server on ``directory/buckets``."""
    root = directory / "buckets"
    for bucket in BUCKETS:
        (root / bucket).mkdir(parents=True)
    log = directory / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                Path(sys.executable).with_name("rclone"),
                "serve",
                "s3",
                "--addr=127.0.0.1:0",
                f"--auth-key={ACCESS_KEY},{SECRET_KEY}",
                "--config=",
                root,
            ],
            stdout=output,
            stderr=output,
            env={**os.environ, "HOME": str(directory)},
        )
    until(lambda: _address(log) or process.poll() is not None, 60)
    return S3Server(_address(log), root), process


def _address(log: Path) -> str:
    found = re.search(r"http://[\d.]+:\d+", log.read_text())
    return found[0] if found else ""
