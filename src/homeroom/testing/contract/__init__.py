"""The contract of the provider seam, as tests that an adapter's own test inherits.

Each method states one obligation, in its name and its docstring. The classes are plain:
they need pytest's runner and its ``tmp_path``, and Hypothesis; neither is imported before
a test runs.
"""

from homeroom.testing.contract.furnishing import Furnishing
from homeroom.testing.contract.grants import Grants
from homeroom.testing.contract.isolation import Isolation
from homeroom.testing.contract.leavings import Leavings
from homeroom.testing.contract.live import LiveProviderContract
from homeroom.testing.contract.secrecy import Secrecy
from homeroom.testing.contract.stores import Stores

__all__ = ["GrantContract", "LiveProviderContract", "ProviderContract"]


class ProviderContract(Isolation, Furnishing, Stores, Secrecy, Leavings):
    """What every adapter keeps; see ``AdapterTest`` for what its test must say."""


class GrantContract(Grants, ProviderContract):
    """The same, and what holds for a CLI whose login is a grant that it renews by itself."""
