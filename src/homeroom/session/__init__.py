"""How a run's process is held."""
