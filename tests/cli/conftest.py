"""Commands print for a wide page here, whatever the terminal or test runner says."""

import pytest


@pytest.fixture(autouse=True)
def wide_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables wrap at the width of the page, which tests must not depend on."""
    monkeypatch.setenv("COLUMNS", "160")
