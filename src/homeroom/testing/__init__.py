"""The test kit of homeroom: what every adapter must keep, and what it takes to test it.

An adapter's test is a class that inherits ``ProviderContract`` and says what the adapter's
CLI keeps where; see ``docs/how-to/add-an-agent.md``. A sandbox's inherits
``SandboxContract`` and says how one is made. Beyond what homeroom itself needs, the
kit needs pytest and Hypothesis (``pip install homeroom[testing]``).
"""

import sys

# Before the modules are imported: only then does pytest show the values in their asserts.
if "pytest" in sys.modules:
    sys.modules["pytest"].register_assert_rewrite(
        "homeroom.testing.contract", "homeroom.testing.sandbox"
    )

from homeroom.testing.contract import GrantContract, LiveProviderContract, ProviderContract
from homeroom.testing.samples import CARRIED, HOOK, SECRET, SESSION, Login
from homeroom.testing.sandbox import SandboxContract, sample_bench

__all__ = [
    "CARRIED",
    "HOOK",
    "SECRET",
    "SESSION",
    "GrantContract",
    "LiveProviderContract",
    "Login",
    "ProviderContract",
    "SandboxContract",
    "sample_bench",
]
