"""The page of srt's versions says what the table and the matrix say."""

import runpy

from tests.docs.pages import ROOT, read

SCRIPT = ROOT / "scripts" / "generate_srt_versions.py"
PAGE = ROOT / "docs" / "reference" / "srt-versions.md"


def test_the_page_is_what_the_table_gives() -> None:
    made = runpy.run_path(str(SCRIPT))["render"]()
    assert read(PAGE) == made, f"run: python {SCRIPT.relative_to(ROOT)}"
