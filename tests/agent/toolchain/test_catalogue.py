"""The compilers' help, read into one text a pass and a text an option."""

import pytest

from agent.toolchain.catalogue import catalogue_texts, parse_options, parse_passes
from agent.toolchain.install import find_ascend
from indexer.corpus import TextTree

HELP = """OVERVIEW: toy driver

Available Dialects: arith, toy
USAGE: toy-opt [options] <input file>

OPTIONS:

Toy Feature Options:

  --enable-rows=<value>                                      - Walk by rows.
    =always                                                  -   Whatever it costs
  -o <file>                                                  - Output
General options:

  Compiler passes to run
    Passes:
      --toy-fold                                             -   Fold pads
        --max-bytes=<uint>                                   - Widest pad
        --mode=<value>                                       - How
    =all                                                     -   Everything
      --toy-split                                            -   No rows
  --verify-each                                              - Run the verifier
"""


def test_a_pass_has_its_options_and_their_values() -> None:
    fold, split = parse_passes(HELP)
    assert (fold.name, fold.text) == ("toy-fold", "Fold pads")
    assert fold.details == ["  --max-bytes=<uint>: Widest pad", "  --mode=<value>: How", "    =all: Everything"]
    assert (split.name, split.text, split.details) == ("toy-split", "No rows", [])


def test_an_option_knows_the_heading_it_stands_under() -> None:
    options = {entry.name: entry for entry in parse_options(HELP)}
    assert set(options) == {"enable-rows", "verify-each"}
    assert options["enable-rows"].heading == "Toy Feature"
    assert options["enable-rows"].details == ["    =always: Whatever it costs"]


@pytest.mark.toolchain
def test_the_installed_compilers_tell_their_passes() -> None:
    texts = catalogue_texts(find_ascend())
    plan = texts["a3/passes/hivm-plan-memory.txt"]
    assert plan.startswith("pass hivm-plan-memory (bishengir-opt)\n")
    assert "--mem-plan-mode=<value>:" in plan
    assert "=local-mem-plan:" in plan
    assert "a5/passes/convert-vector-to-hivmave.txt" in texts or "a5/passes/hivm-plan-memory.txt" in texts
    assert texts["adapter/passes/triton-to-linalg.txt"].count("\n") > 3
    assert "a3/options/enable-auto-multi-buffer.txt" in texts
    assert "hivm" in texts["a3/dialects.txt"].split("\n")
    assert any(path.startswith("triton/backends/ascend/") for path in texts)


@pytest.mark.toolchain
def test_the_same_wheels_give_the_same_commit() -> None:
    made = [TextTree("toolchain", "ascend", "x", catalogue_texts(find_ascend())).corpus.commit for _ in range(2)]
    assert made[0] == made[1]
