"""What stops a beginner names a page, and that page is there and says the same."""

import errno
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from homeroom import certificates, launch, proxy
from homeroom.errors import HomeroomError
from homeroom.files import explain
from homeroom.paths import Paths
from homeroom.session.foreground import Outcome
from homeroom.session.tmux import Tmux
from homeroom.toolchain.system import locate_system_tools
from tests.docs.pages import ROOT, read

NOWHERE = "/nowhere"


def no_tmux() -> None:
    Tmux(Paths(*(Path(NOWHERE) for _ in range(4))), {"PATH": NOWHERE}).argv("new-session")


def disk_full() -> None:
    raise explain(OSError(errno.ENOSPC, "No space left on device"), "/x", "write")


def no_namespaces() -> None:
    raise launch._not_started(Outcome(1, started=False, refusal="the sandbox ended"))


# What happens, the page, and a word of the message that the page repeats.
CASES = {
    "no bubblewrap": (
        lambda: locate_system_tools({"PATH": NOWHERE}),
        "install-system-tools.md",
        "is not installed, or not on the PATH",
    ),
    "no tmux": (no_tmux, "install-system-tools.md", "tmux"),
    "a proxy": (
        lambda: proxy.find({"HTTPS_PROXY": "socks5://h"}),
        "behind-a-proxy.md",
        "is not the address of an HTTP proxy",
    ),
    "certificates": (
        lambda: certificates.find({"SSL_CERT_FILE": NOWHERE}),
        "corporate-certificates.md",
        "which is not there",
    ),
    "a full disk": (disk_full, "disk-full.md", "No space left on device"),
    "no user namespaces": (no_namespaces, "sandbox-refused.md", "could not be proven"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_stops_a_beginner_leads_to_a_page_about_it(case: str) -> None:
    happen, page, word = CASES[case]
    act: Callable[[], object] = happen
    with pytest.raises(HomeroomError) as told:
        act()
    said = f"{told.value.message} {told.value.hint}"
    assert f"docs/how-to/{page}" in said
    assert word in said
    assert word in read(ROOT / "docs" / "how-to" / page)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_ended_a_start_needs_no_page(number: signal.Signals) -> None:
    told = launch._not_started(Outcome(128 + number, started=False, ended_by=number))
    assert told.hint is None
