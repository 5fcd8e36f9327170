"""The caller's proxy: every spelling that programs know, and never a password in the open."""

import traceback
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from homeroom import proxy
from homeroom.errors import ConfigError, SandboxError
from homeroom.home import Instance, instance_of, materialize, new_run_id
from homeroom.paths import Paths
from homeroom.policy import Policy
from homeroom.proxy import Address, Upstream
from homeroom.sandbox import Host, Inside
from homeroom.sandbox.srt import Srt
from homeroom.toolchain.store import Toolchain


def found(**environ: str) -> tuple[str | None, str, str] | None:
    upstream = proxy.find(environ)
    if upstream is None:
        return None
    http = upstream.http.reveal() if upstream.http else None
    return http, upstream.https.reveal(), upstream.exempt


A, B, C = "http://a:1", "http://b:2", "http://c:3"


def test_without_a_variable_there_is_none() -> None:
    assert found(HOME="/x", NO_PROXY="a", https_proxy="", HTTP_PROXY="  ") is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HTTPS_PROXY": A}, (None, A, "")),
        ({"https_proxy": A}, (None, A, "")),
        ({"https_proxy": A, "HTTPS_PROXY": B}, (None, A, "")),
        ({"https_proxy": "", "HTTPS_PROXY": B}, (None, B, "")),
        ({"HTTP_PROXY": A}, (A, A, "")),
        ({"HTTP_PROXY": A, "HTTPS_PROXY": B}, (A, B, "")),
        ({"ALL_PROXY": C}, (C, C, "")),
        ({"all_proxy": C, "HTTPS_PROXY": B}, (C, B, "")),
        ({"HTTP_PROXY": A, "HTTPS_PROXY": B, "ALL_PROXY": "socks5://c:3"}, (A, B, "")),
        ({"HTTPS_PROXY": A, "NO_PROXY": "x"}, (None, A, "x")),
        ({"HTTPS_PROXY": A, "no_proxy": " x, y  .z,", "NO_PROXY": "w"}, (None, A, "x,y,.z")),
    ],
)
def test_the_variables_are_read_in_either_case(
    environ: dict[str, str], expected: tuple[str | None, str, str]
) -> None:
    assert found(**environ) == expected


@pytest.mark.parametrize(
    ("given_", "revealed", "shown"),
    [
        ("proxy", "http://proxy", "http://proxy"),
        ("proxy:3128", "http://proxy:3128", "http://proxy:3128"),
        ("HTTPS://Proxy.example:1/", "https://Proxy.example:1", "https://Proxy.example:1"),
        ("http://[::1]:8", "http://[::1]:8", "http://[::1]:8"),
        ("u:p@h:1", "http://u:p@h:1", "http://********@h:1"),
        ("http://token@h", "http://token@h", "http://********@h"),
        ("http://u:a@b/c d@h", "http://u:a%40b%2Fc%20d@h", "http://********@h"),
        ("http://u:a%40b@h", "http://u:a%40b@h", "http://********@h"),
        ("http://u:é@h", "http://u:%C3%A9@h", "http://********@h"),
    ],
)
def test_an_address_is_put_in_order_and_its_login_masked(
    given_: str, revealed: str, shown: str
) -> None:
    upstream = proxy.find({"HTTPS_PROXY": given_})
    assert upstream is not None
    assert upstream.https.reveal() == revealed
    assert str(upstream.https) == shown
    assert f"{upstream.https.login}" in ("None", "********")


@pytest.mark.parametrize(
    "address",
    [
        "socks5://h:1",
        "http://",
        "http://h:0",
        "http://h:65536",
        "http://h:port",
        "http://h/path",
        "http://h h",
        "//h",
        "http://h:1:2",
    ],
)
@pytest.mark.parametrize("login", ["", "jo:hunter2@"])
def test_what_is_no_proxy_is_refused_without_a_word_of_it(address: str, login: str) -> None:
    scheme, _, rest = address.rpartition("//")
    value = f"{scheme}//{login}{rest}" if scheme else f"{login}{address}"
    with pytest.raises(ConfigError, match=r"^all_proxy is not the address") as told:
        proxy.find({"all_proxy": value, "HTTPS_PROXY": A})
    assert "behind-a-proxy" in (told.value.hint or "")
    assert "hunter2" not in "".join(traceback.format_exception(told.value))


@given(st.text(min_size=1, max_size=20))
def test_any_password_survives_and_none_is_shown(password: str) -> None:
    for spelled in (quote(password, ""), password.replace("%", "%25")):
        upstream = proxy.find({"HTTPS_PROXY": f"http://jo:{spelled}@proxy.example:3128"})
        assert upstream is not None
        parts = urlsplit(upstream.https.reveal())
        assert (parts.username, unquote(parts.password or "")) == ("jo", password)
        assert (parts.hostname, parts.port) == ("proxy.example", 3128)
        assert str(upstream.https) == "http://********@proxy.example:3128"


UPSTREAM = proxy.find({"HTTPS_PROXY": "http://jo:hunter2@proxy.example:1", "NO_PROXY": "x"})
POLICY = Policy((Path("/home"),), (), (), (), ("example.org",))
INSIDE = Inside(("agent",), {}, (), Path("/w"), (Path("/c"),), (Path("/p"),))


def host(toolchain: Toolchain, upstream: Upstream | None = UPSTREAM) -> Host:
    return Host(toolchain, {"bash": Path("/b")}, "/usr/bin", upstream)


@pytest.fixture
def instance(paths: Paths) -> Instance:
    made = instance_of(paths, new_run_id())
    materialize(made)
    return made


def test_the_password_goes_into_the_settings_that_srt_reads_and_nowhere_else(
    toolchain: Toolchain, instance: Instance
) -> None:
    sandbox = Srt(host(toolchain))
    sandbox.prepare(instance, POLICY, INSIDE)
    holders = [
        path
        for place in (instance.root, instance.temp)
        for path in place.rglob("*")
        if path.is_file() and b"hunter2" in path.read_bytes()
    ]
    assert holders == [instance.settings]
    assert not instance.settings.is_relative_to(instance.runtime), "the run could read it"
    assert b"hunter2" not in sandbox.settings(POLICY)
    command = sandbox.command(instance, "exec")
    assert "hunter2" not in f"{command} {sandbox.__dict__}"
    assert not [name for name in command.environment if name.lower().endswith("proxy")]


def test_an_srt_that_knows_no_other_proxy_is_refused(toolchain: Toolchain) -> None:
    tools = {**toolchain.tools, "srt": replace(toolchain.tools["srt"], version="0.0.42")}
    older = replace(toolchain, tools=tools)
    with pytest.raises(SandboxError, match="cannot be sent through a proxy"):
        Srt(replace(host(older), allow_untried=True)).settings(POLICY)
    assert Srt(replace(host(older, None), allow_untried=True)).settings(POLICY)


def test_an_address_shows_itself_masked_however_it_is_printed() -> None:
    address = UPSTREAM.https if UPSTREAM else Address("", "")
    for text in (f"{address}", f"{address!r}", f"{UPSTREAM!r}", f"{UPSTREAM}"):
        assert "hunter2" not in text
        assert "********" in text
