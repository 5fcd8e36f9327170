"""Every link leads somewhere: from page to page, and from messages and help to pages."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, name, prose

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SOURCES = sorted(
    path for path in (ROOT / "src").rglob("*") if path.suffix in {".py", ".sh", ".json", ".mjs"}
)
NAMED = re.compile(r"docs/[\w./-]+\.md")


def test_there_are_pages_to_look_at() -> None:
    assert len(PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_lead_to_files_and_headings(page: Path) -> None:
    broken = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path) if path else page
        exists = target.exists()
        if not exists or (heading and heading not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_link_leaves_the_repository(page: Path) -> None:
    links = [link for link in LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]
    targets = [(page.parent / link.partition("#")[0]).resolve() for link in links]
    assert [target for target in targets if not target.is_relative_to(ROOT)] == []


def test_pages_that_the_source_names_exist() -> None:
    named = {
        (page, name(path))
        for path in SOURCES
        for page in NAMED.findall(path.read_text(encoding="utf-8"))
    }
    assert named, "the source names no page at all: the pattern must be wrong"
    assert {entry for entry in named if not (ROOT / entry[0]).is_file()} == set()


def test_every_page_of_docs_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    reached, pending = {index}, [index]
    while pending:
        page = pending.pop()
        for link in LINK.findall(prose(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            if target.suffix == ".md" and target.is_file() and target not in reached:
                reached.add(target)
                pending.append(target)
    assert [name(page) for page in PAGES if "docs" in page.parts and page not in reached] == []
