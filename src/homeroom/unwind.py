"""Undoing what was done, in reverse, without hiding the first error."""

import contextlib
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Unwind:
    """Steps to undo, each registered as soon as its doing can have left something.

    Unlike ``contextlib.ExitStack``, a step that fails neither replaces the error that led
    here nor keeps the others from being done.

    Args:
        report: Called with each failure of an undo step that is not raised.
    """

    def __init__(self, report: Callable[[BaseException], None]) -> None:
        self._report = report
        self._steps: list[Callable[[], object]] = []

    def add(self, step: Callable[[], object]) -> None:
        """Register a step to be done at the end."""
        self._steps.append(step)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        first: BaseException | None = None
        for step in reversed(self._steps):
            try:
                step()
            except BaseException as failure:  # noqa: BLE001
                if error is None and first is None:
                    first = failure
                    continue
                # Whoever is told may have gone: the other steps matter more.
                with contextlib.suppress(Exception):
                    self._report(failure)
        if first is not None:
            raise first
