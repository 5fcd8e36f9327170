"""A model server on this machine: the toolchain's aimock, with answers given as data."""

from homeroom.testing.model_server import (
    Fixture,
    ModelServer,
    calls,
    calls_then_says,
    model_server,
    says,
)

__all__ = ["Fixture", "ModelServer", "calls", "calls_then_says", "model_server", "says"]
