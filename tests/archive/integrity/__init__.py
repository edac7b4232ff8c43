"""Reconciling and scrubbing stored objects."""
