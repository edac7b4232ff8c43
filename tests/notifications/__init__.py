"""Tests of the notification queue and its senders."""
