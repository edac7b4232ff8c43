"""The checker checked: damage is planted in copies of real backups, and must be found."""
