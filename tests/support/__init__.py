"""What the tests share: running homeroom, comparing trees, a terminal, a model server."""
