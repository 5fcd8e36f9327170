"""A company's network: its authority, its proxy, and a model server in the vendors' place."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from homeroom.toolchain.store import Toolchain
from tests.conftest import PrivateHome
from tests.proxy.intercepting import Proxy, intercepting_proxy
from tests.support.model_server import ModelServer, model_server, says
from tests.support.runs import assert_nothing_left

ANSWER = "All is well behind the proxy."
# With characters that an address must spell otherwise.
LOGIN = "jo:hunter2@x/ y"
SPELLED = "jo:hunter2%40x%2F%20y"
VENDORS = ("api.anthropic.com", "api.openai.com", "chatgpt.com")
KEYS = {"CLAUDE_KEY": "sk-ant-api03-" + "k" * 40, "CODEX_KEY": "sk-" + "k" * 40}


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """The company's own certificate authority."""
    return trustme.CA(organization_name="The Company")


@pytest.fixture(scope="session")
def answers(toolchain: Toolchain) -> Iterator[ModelServer]:
    """A model server that always says the same."""
    with model_server(toolchain, [says(ANSWER)], "--journal-max", "0") as server:
        yield server


@pytest.fixture
def proxy(authority: trustme.CA, answers: ModelServer) -> Iterator[Proxy]:
    """A proxy that asks for no login, with the model server behind it."""
    with intercepting_proxy(authority, dict.fromkeys(VENDORS, answers.port)) as running:
        yield running


@pytest.fixture
def ca_file(authority: trustme.CA, private_home: PrivateHome) -> Path:
    """The authority's certificate, in the user's home, where no room can read."""
    path = private_home.home / "company.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture
def home(ready_home: PrivateHome) -> Iterator[PrivateHome]:
    """A home with API keys in its environment. Nothing may be left of its runs."""
    yield ready_home.with_env(**KEYS)
    assert_nothing_left(ready_home.root)
