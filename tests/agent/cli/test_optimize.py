"""What `tritonkb optimize` refuses before it compiles anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.cli.main import run
from agent.cli.settings import load_settings
from indexer.errors import BadInput


@pytest.fixture
def kernel(tmp_path: Path) -> str:
    (tmp_path / "k.py").write_text("x = 1\n", encoding="utf-8")
    return str(tmp_path / "k.py")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--dry-run"], "--dry-run is about a model; name one with --model"),
        (["--replay", "x.jsonl"], "--replay is about a model; name one with --model"),
        (["--jobs", "many"], "give a number of processes, ray, or ray://HOST:PORT"),
        (["--ladder", "no-such"], "framing-only"),
        (["--model-tokens", "0"], "greater than or equal to 1"),
        (["--rounds", "0"], "--rounds 0"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(
    kernel: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["optimize", kernel, *words, "--lang", "en"]) == 2
    assert told in capsys.readouterr().err


def test_an_address_that_is_none_is_told_before_anything_is_sent(
    kernel: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    assert run(["optimize", kernel, "--model", "toy", "--lang", "en"]) == 2
    assert "OPENAI_BASE_URL is not an address" in capsys.readouterr().err


def test_prices_are_numbers_from_nought_on() -> None:
    assert load_settings({}, {"TRITONKB_PRICE_PROMPT": "0.15"}).price_prompt == 0.15
    with pytest.raises(BadInput, match="price_completion"):
        load_settings({}, {"TRITONKB_PRICE_COMPLETION": "-1"})
