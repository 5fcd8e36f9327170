"""A run's lock, its record, and the sweep that removes what dead runs left."""
