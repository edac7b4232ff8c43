"""Leitstand: a self-hosted control room for jobs, backups, events and alerts."""

__version__ = "0.1.0"
