"""Every agent that is shipped has a test of its conformance, and one with its real program."""

import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from homeroom import provider
from homeroom.testing import LiveProviderContract, ProviderContract

MODULES = sorted(path.stem for path in Path(__file__).parent.glob("test_*.py"))


def covered(contract: type) -> set[str]:
    """Name the agents for which a test module holds a class that keeps a contract."""
    found = set()
    for name in MODULES:
        module = importlib.import_module(f"{__package__}.{name}")
        for _, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, contract) and member.__name__.startswith("Test"):
                kit: Any = member()
                found.add(kit.provider().name)
    return found


@pytest.mark.parametrize("contract", [ProviderContract, LiveProviderContract])
def test_every_agent_keeps_both_halves_of_the_contract(contract: type) -> None:
    assert set(provider.names()) <= covered(contract)


@pytest.mark.parametrize("name", provider.names())
def test_an_agent_is_found_by_its_own_name(name: str) -> None:
    assert provider.get(name).name == name
