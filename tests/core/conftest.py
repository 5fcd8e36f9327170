"""What the tests of the core share."""

import os
from collections.abc import Iterator

import pytest

from homeroom.paths import Paths, locate
from tests.conftest import PrivateHome


@pytest.fixture
def paths(private_home: PrivateHome) -> Paths:
    """homeroom's directories, which nobody has made yet."""
    return locate(private_home.env)


@pytest.fixture
def open_umask() -> Iterator[None]:
    """A umask that takes no permission away: what is private then was made so."""
    old = os.umask(0)
    yield
    os.umask(old)
