"""Data files of the demo."""
