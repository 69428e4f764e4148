"""A real browser for pages: the system's Chromium, driven by playwright. Tests skip where one of them is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import lacking

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Time until a page is ready, in milliseconds; a bound, not a measure.
PATIENCE = 120_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    api: Any = lacking.package("playwright.sync_api", "long")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None) or lacking.lack("chromium", "apt install chromium")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page on view, with every complaint and every request that it made."""

    def __init__(self, browser: Browser, url: str, *, width: int = 1280, scheme: Literal["light", "dark"] = "light",
                 script: bool = True) -> None:  # fmt: skip
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(url)
        if script:
            self.page.wait_for_selector("html[data-ready]", state="attached")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()
