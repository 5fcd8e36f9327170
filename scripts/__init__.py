"""Programs for those who work on homeroom."""
