"""Tests of alert rules and their evaluation."""
