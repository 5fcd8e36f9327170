"""Files of somebody else, which root alone can make."""

import os

import pytest

FOREIGN = 4321
# The suite runs as root and as a plain user in CI: what one pass leaves out, the other runs.
only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
