"""A setup behind a company's proxy: pip and npm, from the true registries."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from homeroom.certificates import VARIABLES
from homeroom.toolchain.data import LOCK_DIR
from tests.conftest import PrivateHome
from tests.proxy.conftest import LOGIN, SPELLED
from tests.proxy.intercepting import Proxy, intercepting_proxy
from tests.support.runs import without
from tests.toolchain.conftest import SMALL, LockDir, Setup, narrow

pytestmark = pytest.mark.network


@pytest.fixture
def setup(online_home: PrivateHome, tmp_path: Path) -> Setup:
    """Setups of one small tool in a home that trusts nobody yet and tries once."""
    lock_dir = tmp_path / "lock"
    lock_dir.mkdir()
    for file in LOCK_DIR.iterdir():
        (lock_dir / file.name).write_bytes(file.read_bytes())
    env = without(online_home.env, *VARIABLES, "SSL_CERT_DIR")
    once = {"PIP_RETRIES": "0", "npm_config_fetch_retries": "0"}
    return Setup(replace(online_home, env=env | once), narrow(LockDir(lock_dir), SMALL).path)


def behind(setup: Setup, proxy: Proxy, **more: str | Path) -> Setup:
    return Setup(setup.home.with_env(HTTPS_PROXY=proxy.url(SPELLED), **more), setup.lock_dir)


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
def test_one_variable_is_enough_for_both_clients(
    setup: Setup, authority: trustme.CA, ca_file: Path, variable: str
) -> None:
    with intercepting_proxy(authority, {}, LOGIN) as proxy:
        status, output, errors = behind(setup, proxy, **{variable: ca_file}).run()
    assert status == 0, errors
    assert json.loads(output)["installed"]
    assert len(proxy.tunnels) > 1
    assert "hunter2" not in output + errors


def test_without_the_authority_the_hint_is_the_page_on_certificates(
    setup: Setup, authority: trustme.CA
) -> None:
    with intercepting_proxy(authority, {}, LOGIN) as proxy:
        status, _, errors = behind(setup, proxy).run()
    assert status == 75, errors
    assert proxy.tunnels
    assert "docs/how-to/corporate-certificates.md" in errors
    assert "hunter2" not in errors
    assert setup.entries() == []


def test_a_login_that_the_proxy_refuses_is_not_told_to_anybody(
    setup: Setup, authority: trustme.CA, ca_file: Path
) -> None:
    with intercepting_proxy(authority, {}, "jo:another") as proxy:
        status, _, errors = behind(setup, proxy, SSL_CERT_FILE=ca_file).run()
    assert status == 75, errors
    assert proxy.refused
    assert "docs/how-to/behind-a-proxy.md" in errors
    assert "hunter2" not in errors
