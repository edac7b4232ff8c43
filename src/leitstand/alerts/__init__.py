"""Alerts: rules over metrics, and what becomes of the series that violate them."""
