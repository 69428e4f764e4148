"""Pages show real output; the site is built from them, and its links lead somewhere."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from executed import EXECUTED, PageError, blocks, check_only, run_page
from pages import REPOSITORY, broken_links, build, executable, notebooks, run_notebook, sources

import lacking

# test_python_page runs docs/python.md.
PAGES = [page for page in sources() if executable(page) and page.name != "python.md"]
# Their commands take seconds. All commands and options of every page are looked up in any case.
SLOW = {"choosing", "comparing", "engine", "errors", "faq", "own-topology", "own-workload", "python-transport"}
SLOW |= {"README", "citing", "figures-for-a-paper", "reports", "run-length", "tutorial", "uet-nscc", "verdicts"}


def missing(*modules: str) -> str | None:
    """Says which of some packages are not installed."""
    absent = [name for name in modules if importlib.util.find_spec(name) is None]
    return lacking.absent(f"the package {', '.join(absent)}", "pip install '.[docs]'") if absent else None


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for all pages, which share finished runs."""
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.long if page.stem in SLOW else ()) for page in PAGES],
    ids=lambda page: str(page.relative_to(REPOSITORY)),
)
def test_pages_show_what_happens(page: Path, scratch: Path) -> None:
    run_page(page, scratch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_commands_and_options_on_pages_exist(page: Path) -> None:
    found = [block for block in blocks(page) if block.kind in EXECUTED]
    assert found
    for block in found:
        check_only(block)


@pytest.mark.parametrize("book", notebooks(), ids=lambda book: book.stem)
@pytest.mark.long
def test_notebooks_run_to_their_end(book: Path, scratch: Path) -> None:
    if absent := missing("nbclient", "ipykernel"):
        pytest.skip(absent)
    run_notebook(book, scratch)


@pytest.mark.parametrize("book", notebooks(), ids=lambda book: book.stem)
def test_notebooks_hold_no_outputs(book: Path) -> None:
    cells = json.loads(book.read_text("utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


WRONG = {
    "another output": ("```console\n$ echo two\nthree\n```", r"echo two. prints something else"),
    "a failure": ("```console\n$ false\n```", "status 1"),
    "success instead of an error": ("```console\n$ echo good\nerror: bad\n```", "status 0"),
    "a failing program": ("```python\n1 / 0\n```", "ZeroDivisionError"),
    "another output of a program": ("```python\nprint(1)\n```\n\n```output\n2\n```", "prints something else"),
    "no reason": ("```sh\nheadway list transports\n```", "not run: WHY"),
    "an option that is gone": ("```console not run: long\n$ headway run FILE --quick\n```", "has no option `--quick`"),
    "a command that is gone": ("```console not run: long\n$ headway walk\n```", "there is no command `walk`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_page_that_shows_something_else_fails(name: str, tmp_path: Path) -> None:
    text, fault = WRONG[name]
    page = tmp_path / "page.md"
    page.write_text(f"# A page\n\n{text}\n", "utf-8")
    with pytest.raises(PageError, match=fault) as raised:
        run_page(page, tmp_path)
    assert str(raised.value).startswith(f"{page}:"), "it says where"


def test_a_page_may_leave_out_what_varies_and_write_files(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```text file=a.txt\none\ntwo\n```\n\n```console\n$ cat a.txt; date\none\n...\n```\n\n"
        "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```output\n1\n```\n",
        "utf-8",
    )
    assert run_page(page, tmp_path) == 3


@pytest.mark.skipif(missing("zensical") is not None, reason=str(missing("zensical")))
@pytest.mark.long
def test_the_site_is_built_and_has_search(tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(site)
    drawn = (site / "transports" / "amrt.html").read_text("utf-8")
    assert "Burst goes to Granted on Grant" in drawn and "mermaid" not in drawn, "states are drawn without a script"
    for page in sources().values():
        assert site.joinpath(page).with_suffix(".html").exists(), page
    assert "headway reproduce" in (site / "commands.html").read_text("utf-8")
    assert "Scenario.load" in (site / "python-api.html").read_text("utf-8")
    assert "trimming" in (site / "search.json").read_text("utf-8")
    faq = site / "faq.html"
    faq.write_text(faq.read_text("utf-8").replace('"engine.html"', '"engine.html#nowhere"'), "utf-8")
    (site / "citing.html").unlink()
    found = "\n".join(broken_links(site))
    assert "faq.html: engine.html#nowhere names an anchor" in found
    assert "citing.html leads nowhere" in found
