"""Trees of files, compared to the last byte, mode and nanosecond; and removed."""

from homeroom.testing.tree import Entry, Snapshot, changes, remove_tree, snapshot

__all__ = ["Entry", "Snapshot", "changes", "remove_tree", "snapshot"]
