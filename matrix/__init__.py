"""The regression over versions of the sandbox runtime: ``nox -s matrix``."""
