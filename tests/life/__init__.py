"""The life of a run: held, listed, spoken to, stopped, crashed, read again."""
