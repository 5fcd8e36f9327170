"""The report for people, in a real browser."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from homeroom.cli import check_html
from tests.check.samples import HOSTILE, document, every_verdict

SIZES = {"phone": (360, 740), "desktop": (1280, 900)}
SCHEMES = ("light", "dark")

Written = Callable[[str], str]


@contextmanager
def opened(
    browser: Browser, address: str, scheme: Any = "light", size: str = "desktop"
) -> Iterator[Page]:
    width, height = SIZES[size]
    page = browser.new_page(
        color_scheme=scheme, viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    try:
        page.goto(address)
        yield page
        assert complaints == []
    finally:
        page.close()


def unfold(page: Page) -> None:
    for summary in page.locator("summary").all():
        summary.click()
    assert page.locator("details:not([open])").count() == 0


@pytest.mark.network
@pytest.mark.parametrize("unfolded", [False, True], ids=["folded", "unfolded"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("report", [document(), every_verdict()], ids=["well", "every verdict"])
def test_everybody_can_read_it(
    browser: Browser,
    axe: str,
    written: Written,
    report: dict[str, Any],
    scheme: str,
    size: str,
    unfolded: bool,
) -> None:
    with opened(browser, written(check_html.page(report)), scheme, size) as page:
        if unfolded:
            unfold(page)
        page.evaluate(axe)
        found = page.evaluate(
            "axe.run().then(({violations, incomplete, passes}) =>"
            " JSON.stringify({violations, incomplete, passes: passes.length}))"
        )
    result = json.loads(found)
    assert result["passes"] > 20, "axe looked at nothing"
    assert [
        (rule["id"], node["html"], node["failureSummary"])
        for rule in (*result["violations"], *result["incomplete"])
        for node in rule["nodes"]
    ] == []


@pytest.mark.network
def test_axe_finds_what_is_wrong(browser: Browser, axe: str, written: Written) -> None:
    wrong = check_html.page(document()).replace('lang="en"', "")
    with opened(browser, written(wrong)) as page:
        page.evaluate(axe)
        ids = page.evaluate("axe.run().then(found => found.violations.map(rule => rule.id))")
    assert ids == ["html-has-lang"]


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_screen(browser: Browser, written: Written, size: str) -> None:
    with opened(browser, written(check_html.page(every_verdict())), size=size) as page:
        unfold(page)
        wide = page.evaluate(
            "[...document.querySelectorAll('body *:not(.skip):not(.hidden)')]"
            ".filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML)"
        )
        assert wide == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_dark_where_the_reader_wants_it(browser: Browser, written: Written) -> None:
    address = written(check_html.page(document()))
    grounds: list[int] = []
    for scheme in SCHEMES:
        with opened(browser, address, scheme) as page:
            color = page.evaluate("getComputedStyle(document.body).backgroundColor")
            grounds.append(sum(int(part) for part in color[4:-1].split(",")))
    assert grounds[0] > 3 * 200 > 3 * 50 > grounds[1]


def test_what_is_hostile_is_shown_and_does_nothing(browser: Browser, written: Written) -> None:
    with opened(browser, written(check_html.page(every_verdict(HOSTILE)))) as page:
        unfold(page)
        shown = page.inner_text("main")
        assert page.locator("script, img, iframe, main svg, [onload], [onerror]").count() == 0
        assert page.title().endswith("homeroom check")
    for before in ("failed: ", "crashed: ", "skipped: ", "warned: ", "well: ", "rm ", "look at "):
        assert f"{before}<script>document.title=" in shown
    assert r"$style ${style} %s {0} &amp; \x1b[31m\x07\u202etxt.exe \udcff\x00" in shown


def test_even_an_unescaped_script_would_not_run(browser: Browser, written: Written) -> None:
    broken_in = "<script>document.title='broken in'</script><b style='color:red'>"
    page_text = check_html.page(document()).replace("</main>", f"{broken_in}</main>")
    page = browser.new_page()
    page.goto(written(page_text))
    assert page.title() != "broken in"
    assert page.evaluate("getComputedStyle(document.querySelector('b')).color") != "rgb(255, 0, 0)"
    page.close()


def test_it_asks_for_nothing(browser: Browser) -> None:
    content = check_html.page(every_verdict()).encode()
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_words: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}/report.html"
            with opened(browser, address) as page:
                unfold(page)
                page.wait_for_load_state("networkidle")
        finally:
            server.shutdown()
    assert asked == ["/report.html"]
    assert b"http" not in content.replace(b"http-equiv", b"")


def test_paper_shows_what_the_screen_folds(browser: Browser, written: Written) -> None:
    visible = "e => e.checkVisibility({contentVisibilityAuto: true}) && e.offsetHeight > 0"
    with opened(browser, written(check_html.page(every_verdict()))) as page:
        rows = page.locator("details li .seen")
        assert rows.count() > 40
        assert not any(row.evaluate(visible) for row in rows.all())
        page.emulate_media(media="print")
        assert all(row.evaluate(visible) for row in rows.all())
        assert page.locator("details[open]").count() == 0
        assert page.pdf().startswith(b"%PDF-")


def test_the_keyboard_reaches_everything(browser: Browser, written: Written) -> None:
    with opened(browser, written(check_html.page(every_verdict()))) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#findings"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("location.hash") == "#system.clock"
        for _ in range(100):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.tagName") == "SUMMARY":
                break
        page.keyboard.press("Enter")
        assert page.locator("details[open]").count() == 1


def test_what_must_be_done_comes_first(browser: Browser, written: Written) -> None:
    with opened(browser, written(check_html.page(every_verdict()))) as page:
        assert page.inner_text("h1") == "1 thing must be mended before a room is safe"
        shown = page.locator("nav li").all_inner_texts()
        assert [text.partition(":")[0] for text in shown] == ["failed", "crashed", "warned"]
        articles = page.locator("article h3").all()
        assert len(articles) == 3
        assert all(article.is_visible() for article in articles)
        assert page.locator("#system\\.clock code").first.inner_text() == "rm /home/me/file"
        assert not page.locator("details li").first.is_visible()


@pytest.mark.parametrize(
    ("report", "headline"),
    [
        (document(), "Rooms are safe here"),
        (every_verdict(), "1 thing must be mended before a room is safe"),
    ],
)
def test_the_headline_says_how_it_stands(report: dict[str, Any], headline: str) -> None:
    assert check_html.headline(report["probes"]) == headline


def test_safe_is_only_what_the_sandbox_has_proven() -> None:
    probes = [probe for probe in document()["probes"] if probe["group"] == "system"]
    assert check_html.headline(probes) == "Well as far as was tried"
    assert check_html.headline([]) == "Nothing was tried, so nothing is proven"
