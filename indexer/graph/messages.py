"""The messages a passage can emit: string literals of the emitting statement, with holes where values are put in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indexer.diagnostics import HOLE, mask, says_enough
from indexer.records import Passage
from indexer.words import split_identifier

# What MLIR, LLVM and these compilers emit with; a cheap test before the expression is tried.
_CPP_MARKS = (
    "emit", "Failure", "unreachable", "fatal_error", "dbgs", "DBG", "errs()", "assert(", "createStringError",
    "attachNote",
)  # fmt: skip
_CPP_EMITTER = re.compile(
    r"\b(?:emit(?:OpError|Error|Warning|Remark|DefiniteFailure|SilenceableError|SilenceableFailure|ErrorOnOp)\w*"
    r"|(?:notify|report)MatchFailure|llvm_unreachable|report_fatal_error|attachNote|createStringError"
    r"|\w*assert|LLVM_DEBUG|L?DBGS?|dbgs|errs)\s*\("
)
_PYTHON_EMITTER = re.compile(r"\b(?:raise\s+[\w.]+|print|warn|warnings\.warn|log\w*\.\w+|assert)\b\s*\(?")
_TOKEN = re.compile(
    r'"(?P<text>(?:[^"\\\n]|\\.)*)"|(?P<end>[;#])|\s+|(?P<name>[A-Za-z_]\w*)|(?P<neutral>[<>()+,]+)|[^\s"A-Za-z_;#<>()+,]+'
)
_PYTHON_STRING = re.compile(
    r"(?P<prefix>[fFrRbB]{0,2})(?P<quote>\"\"\"|'''|\"|')(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)", re.DOTALL
)
_BRACES = re.compile(r"\{[^{}]*\}")
_PRINTF = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:l|ll|z)?[diuxXscpfg]|\{\d*[^{}]{0,12}\}")
_ESCAPE = re.compile(r"\\(.)")
_EXPECTED = re.compile(r"//\s*expected-(?:error|warning|remark|note)[^{\n]*\{\{(?P<text>.*?)\}\}")
# What the verifiers generated from TableGen say.
_SAME = re.compile(r"\bAll(?P<what>[A-Z]\w+?)s?Match<\[(?P<names>[^\]\n]*)\]>")
_PREDICATE = re.compile(r'\bPredOpTrait<\s*"(?P<text>[^"\n]+)"')
MAX_STATEMENT = 1_200  # characters


def messages_of(passage: Passage) -> Iterator[str]:
    """Yield the masked messages that a passage emits, or that a test expects."""
    found: Iterator[str] = iter(())
    if passage.language == "cpp":
        found = _cpp(passage.text)
    elif passage.language == "python" and passage.kind != "test":
        found = _python(passage.text)
    elif passage.language == "mlir" and "expected-" in passage.text:
        found = (m["text"] for m in _EXPECTED.finditer(passage.text))
    elif passage.language == "tablegen":
        found = _verified(passage.text)
    yield from dict.fromkeys(masked for text in found if says_enough(masked := mask(text)))


def _verified(text: str) -> Iterator[str]:
    if "Match<" in text:
        for same in _SAME.finditer(text):
            names = ", ".join(re.findall(r"\w+", same["names"]))
            yield f"failed to verify that all of {{{names}}} have same {' '.join(split_identifier(same['what']))}"
    if "PredOpTrait" in text:
        yield from (f"failed to verify that {m['text']}" for m in _PREDICATE.finditer(text))


def _cpp(text: str) -> Iterator[str]:
    if '"' not in text or not any(sign in text for sign in _CPP_MARKS):
        return
    for emitter in _CPP_EMITTER.finditer(text):
        yield from _statement(text, emitter.end(), follow=True)


def _statement(text: str, start: int, *, follow: bool) -> Iterator[str]:
    """Yield the message of the statement that goes on at `start`: adjacent literals joined, a hole for all between."""
    parts: list[str] = []
    names: list[str] = []
    between = False
    for token in _TOKEN.finditer(text, start, start + MAX_STATEMENT):
        kind = token.lastgroup
        if kind == "end":  # of the statement; a macro has none, there the next directive ends it
            break
        if kind == "text":
            parts += [HOLE] if between and parts else []
            parts.append(_PRINTF.sub(HOLE, _ESCAPE.sub(_unescaped, token["text"])))
            between = False
        elif kind != "neutral" and not token[0].isspace():
            names += [token[0]] if kind == "name" else []
            between = True
    if parts:
        yield " ".join("".join(parts).split())
    elif follow:
        yield from _assigned(text, names)


def _assigned(text: str, names: list[str]) -> Iterator[str]:
    """Yield the messages of strings that were put together first and then emitted by name."""
    for name in dict.fromkeys(names):
        for sign in (" = ", " =\n", " += "):
            at = text.find(f"{name}{sign}")
            if at >= 0 and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_.")):
                yield from _statement(text, at + len(name) + len(sign), follow=False)


def _unescaped(found: re.Match[str]) -> str:
    return " " if found[1] in "nt" else found[1]


def _python(text: str) -> Iterator[str]:
    for emitter in _PYTHON_EMITTER.finditer(text):
        parts: list[str] = []
        at = emitter.end()
        while (string := _PYTHON_STRING.search(text, at, min(len(text), at + 200))) is not None:
            between = text[at : string.start()]
            if (parts and between.strip()) or "\n\n" in between or re.search(r"\b(?:raise|def|return|if)\b", between):
                break
            body = _ESCAPE.sub(_unescaped, string["text"])
            parts.append(_BRACES.sub(HOLE, body) if "f" in string["prefix"].lower() else _PRINTF.sub(HOLE, body))
            at = string.end()
        if parts:
            yield " ".join("".join(parts).split())
