"""What is around every page."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect

from web.conftest import WebWorker, open_page


def test_a_newcomer_sees_the_overview(page: Page, worker: WebWorker) -> None:
    open_page(page)

    expect(page).to_have_title("Overview · Seamark")
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(page.get_by_role("navigation").get_by_role("link", name="Overview")).to_have_attribute(
        "aria-current", "page"
    )


def test_the_page_has_a_short_address(worker: WebWorker) -> None:
    answer = httpx.get(f"{worker.url}/ui")
    assert (answer.status_code, answer.headers["location"]) == (307, "/ui/")


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_theme_is_kept(page: Page, theme: str) -> None:
    open_page(page)
    page.get_by_label("Theme").select_option(theme)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)

    open_page(page)
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    expect(page.get_by_label("Theme")).to_have_value(theme)
