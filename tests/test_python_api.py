"""The page on the Python API shows code that runs, and gives what the command line gives."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent.cli.main import run
from retriever.records import Query
from retriever.search import open_knowledge_base
from tests.chat_server import chat_server, in_turn, say

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def home(tmp_path: Path, sample_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "index").symlink_to(sample_store)
    monkeypatch.setenv("TRITONKB_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("page", ["python-api.md", "python-api.zh.md"])
def test_the_code_of_the_page_runs(
    page: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # noqa: S102 - our own page
    said = capsys.readouterr().out
    assert "ascendnpu-ir" in said
    assert "defines pass toy-split-columns" in said
    assert "toy-split-columns: Split a column walk into single elements." in said.replace("：", ": ")
    with chat_server(in_turn(say({"claims": []}))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert names["ask_model"]("What does toy-split-columns do?", "toy").mode == "extractive"


def test_both_pages_show_the_same_code() -> None:
    def code(page: str) -> list[str]:
        text = (DOCS / page).read_text(encoding="utf-8")
        lines = re.findall(r"^(?:from|for|if|def|index|hits|cited|answer|doc|print).*?(?=  #|$)", text, re.MULTILINE)
        return [re.sub(r'"[^"]*"', '""', line) for line in lines]

    assert code("python-api.md") == code("python-api.zh.md")


def test_the_command_line_gives_the_same_hits(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    question = "a strided row read element by element"
    assert run(["search", question, "--json", "-k", "5"]) == 0
    told = [hit["passage"]["id"] for hit in json.loads(capsys.readouterr().out)["hits"]]
    hits = open_knowledge_base(home / "index").search(Query(question), 5)
    assert told == [hit.passage.id for hit in hits]
