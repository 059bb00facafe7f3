"""The report as a browser shows it: nothing runs, nothing is loaded, nothing is cut off at a phone's width."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.report.html.write import write_report
from indexer.messages import Lang
from tests.agent.report.runs_on_disk import a_run

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH; on Debian: apt-get install chromium"),
]
SCHEMES = ("light", "dark")
HOSTILE = (
    "<script>window.hit = 1</script><img src=http://127.0.0.1:9/x onerror='window.hit = 1'>"
    "</script></style><svg onload='window.hit = 1'>\"' onmouseover='window.hit = 1' autofocus onfocus='window.hit = 1'"
    "<a href='javascript:window.hit = 1'>x</a><style>@import 'http://127.0.0.1:9/y'; * { display: none }</style>"
)
# Elements that reach beyond the right edge and are not inside of something that scrolls.
BEYOND = """() => [...document.querySelectorAll('body *')]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('pre, .scroll, svg'))
  .map(e => e.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    # Chromium's own sandbox does not start for root, as tests in a container often are.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    a_run(root / "plain", ir='%1 = "hivm.hir.load"(%0) : (memref<2048xf32, #hivm.address_space<gm>>) -> ()\n' * 30)
    a_run(root / "hostile", HOSTILE)
    a_run(root / "wide", "x" * 300)
    return root


def opened(
    browser: sync_api.Browser, folder: Path, lang: Lang = "en", *, width: int = 1280, scheme: str = "light"
) -> tuple[sync_api.Page, list[str]]:
    """Open the report of `folder`; give the page, and what it asked for or complained about."""
    path = write_report(folder, folder / f"{lang}.html", lang).path
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    told: list[str] = []
    page.on("console", lambda entry: told.append(entry.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: told.append(request.url) if request.url != path.as_uri() else None)
    page.on("dialog", lambda dialog: (told.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    return page, told


@pytest.mark.parametrize("width", [320, 375, 1280])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_page_scrolls_sideways_whatever_it_holds(
    browser: sync_api.Browser, folder: Path, lang: Lang, width: int
) -> None:
    page, told = opened(browser, folder, lang, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate(BEYOND) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert told == []
    page.close()


def test_hostile_text_runs_nothing_and_loads_nothing(browser: sync_api.Browser, folder: Path) -> None:
    page, told = opened(browser, folder / "hostile")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for link in page.locator("main a").all()[:5]:
        link.click()
    page.mouse.move(300, 300)
    assert page.evaluate("window.hit") is None
    assert told == []
    assert page.locator("script, img, iframe, object, embed, form").count() == 0
    assert page.locator("h1").is_visible()
    page.close()


def test_the_policy_holds_where_escaping_would_fail(browser: sync_api.Browser, folder: Path) -> None:
    page, _ = opened(browser, folder / "plain")
    path = folder / "broken.html"
    text = (folder / "plain" / "en.html").read_text(encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        hostile = HOSTILE.replace("127.0.0.1:9", f"127.0.0.1:{server.getsockname()[1]}")
        path.write_text(text.replace("<main", f"{hostile}<main", 1), encoding="utf-8")
        page.goto(path.as_uri())
        assert page.locator("script").count() == 1  # it is there, and did not run
        assert page.evaluate("window.hit") is None
        assert page.locator("h1").is_visible()  # nor does a foreign style count
        server.setblocking(False)  # noqa: FBT003 - the socket's own signature
        with pytest.raises(BlockingIOError):  # nobody called
            server.accept()
    page.close()


def test_light_and_dark_follow_the_system_and_the_style_is_applied(browser: sync_api.Browser, folder: Path) -> None:
    grounds = []
    for scheme in SCHEMES:
        page, _ = opened(browser, folder / "plain", scheme=scheme)
        grounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert grounds == ["rgb(255, 255, 255)", "rgb(15, 20, 24)"]


def test_rounds_open_by_keyboard_and_a_link_leads_into_its_round(browser: sync_api.Browser, folder: Path) -> None:
    page, _ = opened(browser, folder / "plain")
    closed = page.locator("details.round:not([open])").first
    closed.locator("> summary").focus()
    before = page.locator("details.round[open]").count()
    page.keyboard.press("Enter")
    assert page.locator("details.round[open]").count() == before + 1
    page.keyboard.press("Space")
    assert page.locator("details.round[open]").count() == before
    page.locator("table a", has_text="2").first.press("Enter")
    assert page.evaluate("location.hash") == "#run-1-round-2"
    assert page.locator("#run-1-round-2").is_visible()
    page.close()


def test_everything_that_scrolls_can_be_reached_by_keyboard(browser: sync_api.Browser, folder: Path) -> None:
    page, _ = opened(browser, folder, width=375)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll('main *')]
          .filter(e => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX === 'auto')
          .filter(e => e.tabIndex < 0).map(e => e.outerHTML.slice(0, 120))"""
    )
    assert unreachable == []
    page.close()


def test_a_print_holds_the_rounds_that_are_folded_on_the_screen(browser: sync_api.Browser, folder: Path) -> None:
    page, _ = opened(browser, folder / "plain")
    page.emulate_media(media="print")
    hidden = page.locator("details.round:not([open]) > .body").first
    assert hidden.is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.close()
