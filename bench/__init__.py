"""Measurements: each as a ratio against a named peer or floor in the same run."""
