"""Fixtures of the tests of prelude."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.core.prelude.scene import Stage, started, variables, word


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arguments=st.lists(word, max_size=5),
    values=st.dictionaries(st.from_regex(rb"V[A-Za-z0-9_]{0,5}", fullmatch=True), word, max_size=5),
)
def test_any_argument_and_any_value_arrive_as_they_were(
    stage: Stage, arguments: list[bytes], values: dict[bytes, bytes]
) -> None:
    stage.lists["argv"] = stage.agent(*arguments)
    stage.lists["environment"] = [name + b"=" + value for name, value in values.items()]
    seen = started(stage.run())
    assert [bytes.fromhex(text) for text in seen["argv"]] == arguments
    found = variables(seen)
    assert {name: found.get(name) for name in values} == values
