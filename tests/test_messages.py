"""Every sentence exists in both languages, says the same values, and is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

from agent.symptoms.cuda.table import CUDA_SYMPTOMS
from agent.symptoms.table import SYMPTOMS
from indexer.messages import catalogue

ROOT = Path(__file__).parents[1]
PACKAGES = ("indexer", "retriever", "agent")
KEY = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
# Strings of the form `area.word` that are file names.
FILE_SUFFIXES = frozenset(
    ["toml", "json", "jsonl", "cubin", "html", "py", "md", "mlir", "ttir", "o", "c", "so", "ll", "txt"]
)
LOOKED_AT = (ast.Constant, ast.JoinedStr, ast.Call)
HAN = re.compile(r"[\u4e00-\u9fff]")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def needs_chinese(text: str) -> bool:
    """Whether there is a sentence to translate: more than placeholders, and more than one term, such as `pass`."""
    words = [word for part, _, _, _ in Formatter().parse(text) for word in re.findall("[A-Za-z]+", part)]
    return len(words) > 1


@cache
def sources() -> tuple[tuple[str, list[ast.AST]], ...]:
    """Every file of the packages, with the nodes of its syntax tree that may hold keys."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return tuple(
        (
            str(path.relative_to(ROOT)),
            [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, LOOKED_AT)],
        )
        for path in files
    )


@cache
def literal_keys() -> dict[str, str]:
    """Every string of the source that has the form of a key of a known area, and a place where it stands."""
    areas = {key.partition(".")[0] for key in catalogue()}
    found = {}
    for path, nodes in sources():
        parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in parts:
                continue
            if KEY.fullmatch(node.value) and node.value.partition(".")[0] in areas:
                found[node.value] = f"{path}:{node.lineno}"
    return found


@cache
def key_patterns() -> dict[str, str]:
    """Keys that are put together, such as `f"report.verdict_{verdict}"`, as regular expressions."""
    areas = {key.partition(".")[0] for key in catalogue()}
    found = {}
    for path, nodes in sources():
        for node in nodes:
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                parts = [re.escape(str(v.value)) if isinstance(v, ast.Constant) else "[a-z0-9_]+" for v in node.values]
                first = str(node.values[0].value)
                if first.partition(".")[0] in areas and re.fullmatch(r"[a-z_]+\.[a-z0-9_]*", first):
                    found["".join(parts)] = f"{path}:{node.lineno}"
    return found


def calls_with_key() -> Iterator[tuple[str, ast.Call, str]]:
    """Calls whose first argument is a key and whose values are all written out."""
    for path, nodes in sources():
        for node in nodes:
            if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
                continue
            if any(keyword.arg is None for keyword in node.keywords) or len(node.args) > 1:
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            if name == "message" or name.endswith("Error") or name == "BadInput":
                yield str(node.args[0].value), node, f"{path}:{node.lineno}"


def test_both_languages_say_the_same_values() -> None:
    unlike = [key for key, texts in catalogue().items() if placeholders(texts["en"]) != placeholders(texts["zh"])]
    assert unlike == []


def test_the_chinese_texts_are_chinese_and_the_english_are_not() -> None:
    unlike = [key for key, texts in catalogue().items() if needs_chinese(texts["en"]) and not HAN.search(texts["zh"])]
    assert unlike == []
    assert [key for key, texts in catalogue().items() if HAN.search(texts["en"]) or not texts["en"].strip()] == []


@cache
def symptom_keys() -> frozenset[str]:
    """The keys that each symptom of the tables has, whose area is the symptom's own."""
    return frozenset(
        f"{symptom.area}.{symptom.id}_{part}"
        for symptom in (*SYMPTOMS, *CUDA_SYMPTOMS)
        for part in ("title", "why", "advice")
    )


def test_every_symptom_has_its_messages() -> None:
    assert symptom_keys() - set(catalogue()) == set()


def test_every_key_of_the_source_is_in_a_catalogue() -> None:
    missing = {key: place for key, place in literal_keys().items() if key not in catalogue()}
    assert {key: at for key, at in missing.items() if key.partition(".")[2] not in FILE_SUFFIXES} == {}


def test_every_composed_key_fits_a_catalogue_entry() -> None:
    fitting = {pattern for pattern in key_patterns() if any(re.fullmatch(pattern, key) for key in catalogue())}
    assert {pattern: place for pattern, place in key_patterns().items() if pattern not in fitting} == {}


def test_every_catalogue_entry_is_used() -> None:
    patterns = [re.compile(pattern) for pattern in key_patterns()]
    named = {*literal_keys(), *symptom_keys()}
    unused = [
        key for key in catalogue() if key not in named and not any(pattern.fullmatch(key) for pattern in patterns)
    ]
    assert unused == []


def test_every_message_is_given_the_values_that_it_shows() -> None:
    short = {}
    for key, call, place in calls_with_key():
        if key in catalogue():
            missing = placeholders(catalogue()[key]["en"]) - {str(keyword.arg) for keyword in call.keywords}
            if missing:
                short[place] = (key, sorted(missing))
    assert short == {}
