"""Secrets as a type, and the credentials that a run is given."""
