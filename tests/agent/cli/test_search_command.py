"""`tritonkb search` with names that are empty, as a shell's unset variable gives them."""

from pathlib import Path

import pytest

from agent.cli.main import run


@pytest.mark.parametrize("option", ["--pass", "--op", "--option", "--diagnostic"])
def test_an_empty_name_asks_for_nothing(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = run(["search", "--store", str(tmp_path)])
    said = capsys.readouterr().err
    for name in ("", " "):
        assert (run(["search", option, name, "--store", str(tmp_path)]), capsys.readouterr().err) == (asked, said)
    assert asked == 2
