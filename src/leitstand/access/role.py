"""The roles: what those who have got in may do."""

from enum import StrEnum


class Role(StrEnum):
    """Each may do what the ones before it may."""

    VIEWER = "viewer"
    """Sees everything."""
    OPERATOR = "operator"
    """Runs, cancels, retries, enables and disables jobs; drains servers."""
    ADMIN = "admin"
    """Creates, changes and deletes jobs, windows, groups and tokens."""

    def includes(self, other: "Role") -> bool:
        """Whether this role may do all that ``other`` may."""
        order = list(Role)
        return order.index(self) >= order.index(other)
