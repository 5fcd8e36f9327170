"""homeroom: a private, pinned, sandboxed room for every run of a coding agent."""

__version__ = "0.1.0"
