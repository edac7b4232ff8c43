"""Backups of PostgreSQL on disk: how they are taken, verified, chained, rotated and restored."""
