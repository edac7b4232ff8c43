"""Tests of events: queue, catalogue, detectors, webhooks."""
