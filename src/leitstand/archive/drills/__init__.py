"""Restore drills: the routine proof that a backup comes back as a database that answers."""
