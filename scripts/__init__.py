"""Programs for those who work on Leitstand."""
