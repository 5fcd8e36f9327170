"""The browser of the report's tests, for the matrix's page."""

from tests.check.conftest import axe, browser, written

__all__ = ["axe", "browser", "written"]
