"""The board in JupyterLab, and in Notebook where that is installed, driven by a browser: clicks, keys, refusals."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from c4lib import paths

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
PATIENCE = 60_000  # milliseconds, for a kernel to start and numba to compile
PAGES = {"jupyterlab": "doc/tree", "notebook": "notebooks"}  # where each application shows a notebook
KNOWN = {"notebook": "reading 'schema'"}  # what goes wrong there with any notebook, in Notebook 7.6.5
SCREENSHOTS = paths.BUILD / "screenshots"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]


@pytest.fixture(scope="module", params=PAGES)
def jupyter(tmp_path_factory, request):
    """A server of its own: the address of its notebooks, their folder, and an error that is none of ours."""
    pytest.importorskip(request.param)
    pytest.importorskip("anywidget")
    folder = tmp_path_factory.mktemp("jupyter")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = {name: str(folder / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")}
    config = folder / "JUPYTER_CONFIG_DIR" / "labconfig" / "page_config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}')
    options = {"ServerApp.port": port, "ServerApp.root_dir": folder, "IdentityProvider.token": ""}
    command = [sys.executable, "-m", request.param, "--no-browser", "--allow-root"]
    command += [f"--{name}={value}" for name, value in options.items()]
    with (folder / "log.txt").open("w") as log:
        server = subprocess.Popen(command, env=os.environ | home, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/api")
                break
            except OSError:
                assert server.poll() is None, (folder / "log.txt").read_text()
                time.sleep(0.2)
        yield f"{address}/{PAGES[request.param]}", folder, KNOWN.get(request.param)
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET.split())
        yield chromium
        chromium.close()


@pytest.fixture
def show(jupyter, browser, request):
    """Runs a cell in a notebook; the page with the board that it leaves. Nothing may go wrong in the page meanwhile."""
    address, folder, known = jupyter
    name = re.sub(r"\W+", "_", request.node.name)
    errors = []
    page = browser.new_page(viewport={"width": 900, "height": 900})
    page.on("pageerror", lambda error: errors.append(str(error)))

    def run(source):
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)], metadata=kernel)
        nbformat.write(notebook, folder / f"{name}.ipynb")
        page.goto(f"{address}/{name}.ipynb?reset")
        page.locator(".jp-CodeCell .cm-content").first.click(timeout=PATIENCE)
        page.locator(".jp-Notebook-ExecutionIndicator[data-status=idle]").first.wait_for(timeout=PATIENCE)
        page.keyboard.press("Control+Enter")
        page.locator(".c4-board").wait_for(timeout=PATIENCE)
        return page

    yield run
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png")
    page.close()
    assert [error for error in errors if known is None or known not in error] == []


def click(page, column):
    button = page.get_by_role("button", name=re.compile(f"^Column {column},"))
    button.click(force=True)  # one that says it is disabled is waited for otherwise


def says(page, text):
    sync_api.expect(page.locator(".c4 [role=status]")).to_contain_text(text, timeout=PATIENCE)


def has_moves(page, moves):
    sync_api.expect(page.get_by_label("Moves")).to_have_value(moves, timeout=PATIENCE)


def test_a_game_by_clicks_and_keys(show):
    page = show('from c4lib.widgets import play\nplay("human", "human", model=None)')
    says(page, "x to move.")
    click(page, 4)
    has_moves(page, "4")
    page.keyboard.press("5")
    has_moves(page, "45")
    for key in ("ArrowRight", "ArrowLeft", "Enter", "5", "4", "Home", "ArrowRight", "Space"):
        page.keyboard.press(key)
    has_moves(page, "454542")
    for key in ("Backspace", "u"):
        page.keyboard.press(key)
    has_moves(page, "4545")
    for column in (4, 5, 4):
        click(page, column)
    has_moves(page, "4545454")
    says(page, "Four in a row: the winner is x.")
    assert page.locator(".c4-line").count() == 4
    click(page, 1)
    says(page, "The game is over.")
    has_moves(page, "4545454")
    # the notebook has had none of the keys: a digit would make text of the cell, Enter begin to edit it
    assert page.locator(".jp-CodeCell").count() == 1
    assert page.locator(".jp-Notebook.jp-mod-editMode").count() == 0


def test_a_full_column_and_a_bad_line_are_refused(show):
    page = show('from c4lib.widgets import play\nplay("human", "human", moves="444444", model=None)')
    click(page, 4)
    says(page, "Column 4 is full.")
    line = page.get_by_label("Moves")
    line.fill("4459")
    line.press("Enter")
    says(page, "column 9 (1-based) does not exist")
    assert line.input_value() == "4459", "to be corrected"
    assert page.locator('.c4-cell:is([data-stone="1"], [data-stone="-1"]):not(.c4-ghost)').count() == 6
    line.fill("44 53")
    page.get_by_role("button", name="Set").click()
    has_moves(page, "4453")
    page.get_by_role("button", name="New game").click()
    has_moves(page, "")


def test_an_agent_answers_and_the_analysis_fills_in(show):
    page = show('from c4lib.widgets import play\nplay("human", "minimax:4", moves="4444", analysis=True)')

    def cells(row):
        return page.locator(f".c4-analysis tr:has(th:text('{row}')) td")

    sync_api.expect(cells("exact score").nth(3)).to_have_text(re.compile(r"[+-]?\d"), timeout=PATIENCE)
    sync_api.expect(cells("visits").nth(3)).to_have_text(re.compile(r"\d+%"), timeout=PATIENCE)
    click(page, 4)
    says(page, "o (minimax:4) played column")
    assert len(page.get_by_label("Moves").input_value()) == 6
    page.get_by_role("button", name="Take back").click()
    has_moves(page, "4444")
    for shown in (False, True):
        page.get_by_role("button", name="Analysis").click()
        sync_api.expect(page.locator(".c4-analysis")).to_be_visible(visible=shown)
    page.get_by_role("button", name="Hint").click()
    says(page, "Best: ")
    sync_api.expect(page.locator(".c4-hint", has_text="▼").first).to_be_visible(timeout=PATIENCE)
    sync_api.expect(cells("exact score").nth(3)).to_have_text(re.compile(r"[+-]?\d"), timeout=PATIENCE)
    page.locator(".c4-column").nth(3).focus()
    page.keyboard.press("ArrowLeft")
    ghost = page.locator(".c4-column").nth(2).locator(".c4-ghost .c4-x")
    sync_api.expect(ghost).to_be_visible()


def test_the_page_stays_alive_while_an_agent_thinks(show):
    slow = "import time\nfrom c4lib.widgets import play\ndef slow(game, state):\n    time.sleep(3)\n    return 0\n"
    page = show(slow + 'play("human", slow, model=None)')
    click(page, 4)
    says(page, "thinking")
    click(page, 4)
    says(page, "It is the turn of o (function).")
    page.get_by_role("button", name="Take back").click()
    has_moves(page, "")
    time.sleep(4)
    has_moves(page, "")
