"""A difference between versions is judged by what is known of it, and by nothing else."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.errors import ConfigError
from matrix import catalogue, report
from matrix.catalogue import Catalogue, Expected, satisfies
from matrix.grid import COLUMNS, Cell, Row, has_failed, judge

AS_IT_MUST_BE = {column.name: column.expected for column in COLUMNS}
PATCH = st.integers(min_value=0, max_value=120)


def known(*entries: Expected) -> Catalogue:
    return Catalogue(catalogue.Srt(("0.0.83",), ("0.0.83",)), entries)


def row(seen: dict[str, str], *entries: Expected) -> Row:
    return judge(Cell("0.0.83", "plain", seen), known(*entries))


def test_the_repositorys_own_catalogue_is_sound() -> None:
    own = catalogue.load(Path(__file__).parents[2] / "container" / "matrix.toml")
    assert set(own.srt.ci) <= set(own.srt.versions)
    names = {column.name for column in COLUMNS}
    named = {name for entry in own.expected for name in entry.behaviours if "*" not in name}
    assert named <= names


def test_a_cell_that_behaves_fails_nothing() -> None:
    assert not has_failed([row(AS_IT_MUST_BE)])


def test_a_difference_that_nothing_explains_fails() -> None:
    found = row({**AS_IT_MUST_BE, "network.direct": "open"})
    assert [square.verdict for square in found.failures] == ["new"]
    assert has_failed([found])


def test_a_behaviour_that_was_not_tried_fails() -> None:
    seen = {name: value for name, value in AS_IT_MUST_BE.items() if name != "network.direct"}
    assert has_failed([row(seen)])


def test_a_known_difference_does_not_fail_and_says_why() -> None:
    entry = Expected("<=0.0.83", ("network.direct",), "because")
    found = row({**AS_IT_MUST_BE, "network.direct": "open"}, entry)
    assert not has_failed([found])
    assert "because" in [square.reason for square in found.squares]


def test_an_entry_that_explains_nothing_fails() -> None:
    assert has_failed([row(AS_IT_MUST_BE, Expected("<=0.0.83", ("network.direct",), "because"))])


def test_what_only_sometimes_differs_may_hold() -> None:
    entry = Expected("<=0.0.83", ("network.direct",), "a race", may=True)
    assert not has_failed([row(AS_IT_MUST_BE, entry)])


def test_a_cell_that_did_not_run_fails() -> None:
    assert has_failed([judge(Cell("0.0.83", "plain", {}, 1.0, "no image"), known())])


@given(PATCH, PATCH)
def test_comparisons_agree_with_numbers(ours: int, theirs: int) -> None:
    version, other = f"0.0.{ours}", f"0.0.{theirs}"
    assert satisfies(version, f"<{other}") == (ours < theirs)
    assert satisfies(version, f">={other}") == (ours >= theirs)
    assert satisfies(version, f"=={other}") == (ours == theirs)


def test_a_constraint_that_cannot_be_read_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "matrix.toml"
    path.write_text(
        '[srt]\nversions = []\nci = []\n[[expected]]\nversions = "0.0.5"\n'
        'behaviours = ["a"]\nreason = "b"\n'
    )
    with pytest.raises(ConfigError, match=r"matrix\.toml"):
        catalogue.load(path)


def test_every_report_names_the_new_difference_and_escapes_it() -> None:
    rows = [row({**AS_IT_MUST_BE, "network.direct": "<script>alert(1)</script>"})]
    assert "network.direct" in report.text(rows)
    assert "<script>alert" not in report.page(rows)
    suite = ET.fromstring(report.junit(rows))
    assert [case.get("name") for case in suite.iter("testcase") if len(case)] == ["network.direct"]
    (cell,) = json.loads(report.as_json(rows))["cells"]
    assert cell["behaviours"]["network.direct"]["verdict"] == "new"
