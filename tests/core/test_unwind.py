"""What was done is undone in reverse, all of it, and the first error is the one that is seen."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeroom.unwind import Unwind


class Failure(Exception):  # noqa: N818 - an error in any case
    pass


ERRORS = (Failure, OSError, KeyboardInterrupt, SystemExit)


@given(
    steps=st.lists(st.sampled_from([None, *ERRORS]), max_size=6),
    led=st.sampled_from([None, *ERRORS]),
)
def test_every_step_is_undone_in_reverse_and_the_first_error_wins(
    steps: list[type[BaseException] | None], led: type[BaseException] | None
) -> None:
    done: list[int] = []
    reported: list[BaseException] = []
    raised: list[BaseException] = []

    def undo(number: int, failure: type[BaseException] | None) -> None:
        done.append(number)
        if failure is not None:
            raised.append(failure(str(number)))
            raise raised[-1]

    def launch(first: BaseException | None) -> None:
        with Unwind(reported.append) as unwind:
            for number, failure in enumerate(steps):
                unwind.add(partial(undo, number, failure))
            if first is not None:
                raise first

    seen: BaseException | None = None
    first = led("led here") if led is not None else None
    try:
        launch(first)
    except BaseException as error:  # noqa: BLE001
        seen = error
    assert done == list(reversed(range(len(steps))))
    expected = ([first] if first else []) + raised
    assert seen is (expected[0] if expected else None)
    assert reported == expected[1:]


def test_nothing_is_undone_before_the_end() -> None:
    done: list[str] = []
    with Unwind(lambda _: pytest.fail("nothing failed")) as unwind:
        unwind.add(lambda: done.append("undone"))
        assert done == []
    assert done == ["undone"]


def test_a_report_that_nobody_can_hear_keeps_no_step_from_being_done() -> None:
    done: list[str] = []

    def fail() -> None:
        raise Failure

    def deaf(_error: BaseException) -> None:
        raise BrokenPipeError

    def launch() -> None:
        with Unwind(deaf) as unwind:
            unwind.add(lambda: done.append("undone"))
            unwind.add(fail)
            raise Failure("the first")

    with pytest.raises(Failure, match="the first"):
        launch()
    assert done == ["undone"]
