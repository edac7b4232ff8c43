"""Backups of object trees: snapshots in a restic repository, checked, rotated and restored."""
