"""Damaged and hostile dumps: read or refused with `ValueError`, in time that grows with their size, never a crash."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.ir.blame import trace
from indexer.ir.brackets import closing, split_commas
from indexer.ir.generic import MAX_DEPTH, parse_module
from indexer.ir.places import Places
from indexer.ir.records import Snapshot
from indexer.ir.resolution import resolve
from indexer.ir.snapshots import Dump, PassRun, compose

FILE = "k.py"
# One that holds each thing the reader knows: blocks, regions, packs, properties, strings, every kind of location.
SOURCE = """// -----// IR Dump Before ConvertTritonToLinalg (ttir) //----- //
#loc = loc("k.py":7:0)
#map = affine_map<()[s0] -> (s0 * 3)>
"builtin.module"() ({
  "tt.func"() <{function_type = (i32) -> (), sym_name = "kern"}> ({
  ^bb0(%arg0: i32 loc("k.py":7:0)):
    %0 = "arith.constant"() <{value = dense<"a, {b"> : tensor<1xi8>}> : () -> tensor<1xi8> loc(#loc1)
    %1:2 = "scf.for"(%arg0, %arg0) ({
    ^bb0(%arg1: i32 loc(#loc), %arg2: memref<?xf32, strided<[1], offset: ?>> loc(#loc)):
      %2 = "tt.load"(%arg1) {a.unit, b = 1 : i64, m = #map} : (i32) -> f32 loc(#loc3)
      "scf.yield"(%arg1) : (i32) -> () loc("a name"(#loc3))
    }) {ExtractedLoadOrStore} : (i32, i32) -> (i32, i32) loc(#loc2)
    "cf.br"(%arg0)[^bb1] : (i32) -> () loc(#loc2)
  ^bb1(%9: i32 loc(unknown)):  // pred: ^bb0
    "func.call"() <{callee = @vf}> : () -> () loc("k.py":9:1)
    "tt.return"() : () -> () loc(#loc)
  }) {hacc.entry} : () -> () loc(#loc)
}) : () -> () loc(#loc)
#loc1 = loc(unknown)
#loc2 = loc(callsite("/lib/standard.py":3:4 at #loc4))
#loc3 = loc(fused<"x">["/lib/standard.py":1:1, "k.py":12:3])
#loc4 = loc("k.py":9:43)
"""
LOWERED = SOURCE.replace("tt.", "func.").replace("func.load", "hivm.hir.load").replace("Before", "After")
VECTOR = """"func.func"() <{sym_name = "vf"}> ({
  %0 = "ave.hir.vexp"() : () -> f32 loc(unknown)
}) : () -> () loc(unknown)
"""
PIECES = [*'()[]{}<>",:=%#^\\\n ', "({", "})", "}, {", "->", "<{", " loc(", "#loc", "#map",
          "callsite(", "fused<", " at ", "%1:2 = ", "\x00", "\u2028", "é", "9" * 30, "unknown"]  # fmt: skip


def read(*texts: str) -> list[Snapshot]:
    """Read dumps and trace the last one; what cannot be read must be a `ValueError`, as the collector expects."""
    dumps = [(Dump(PassRun(f"p{i}"), "bishengir", text), i) for i, text in enumerate(texts)]
    states: list[Snapshot] = []
    with suppress(ValueError):
        states.extend(compose(dumps, FILE))
    for state in states[-1:]:
        assert all(blame.count > 0 for blame in trace(states, state))
        found = resolve(states, state)
        assert 0 <= found.resolved_share <= 1
        assert 0 <= found.made_share <= 1
    return states


def test_the_text_that_is_damaged_below_is_whole():
    states = read(SOURCE, LOWERED, VECTOR)
    assert len(states) == 3
    lines = {(b.op, b.line, b.pass_argument) for b in trace(states, states[-1])}
    assert lines >= {("hivm.hir.load", 12, "p1"), ("ave.hir.vexp", 9, "p2"), ("scf.for", 9, "p0")}


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Change a whole dump: cut it, and repeat, drop, swap or insert parts of it."""
    text = draw(st.sampled_from([SOURCE, LOWERED, VECTOR]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = draw(st.integers(start, min(len(text), start + 200)))
        piece = draw(st.sampled_from(PIECES)) * draw(st.sampled_from([1, 1, 2, 50]))
        kind = draw(st.sampled_from(["cut", "drop", "repeat", "insert", "replace"]))
        text = {
            "cut": text[:start],
            "drop": text[:start] + text[stop:],
            "repeat": text[:stop] + text[start:stop] + text[stop:],
            "insert": text[:start] + piece + text[start:],
            "replace": text[:start] + piece + text[stop:],
        }[kind]
    return text


@settings(max_examples=40, deadline=None)
@given(st.lists(damaged(), min_size=1, max_size=2))
def test_a_damaged_dump_is_read_or_refused(texts: list[str]):
    read(SOURCE, *texts)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_noise_is_read_or_refused(text: str):
    read(text, f'"x.y"() {text} : () -> () loc({text})', f'"builtin.module"() ({{\n{text}\n}}) : () -> ()')


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.sampled_from(["#loc", "#a", "#b"]), st.lists(st.sampled_from(
    [*PIECES, "#a", "#b", 'k.py":3:4', '"k.py":3:4', "fused[", "callsite("]), max_size=12).map("".join)))  # fmt: skip
def test_a_damaged_location_costs_its_operation_the_place_only(aliases: dict[str, str]):
    places = Places(aliases, FILE)
    for text in ("#loc", "#a", "callsite(#a at #b)", *aliases.values()):
        place = places.resolve(text)
        assert place is None or (place.file == FILE and place.line > 0)
    assert places.resolve('"k.py":5:6') is not None


@pytest.mark.parametrize("at", range(1, len(SOURCE.splitlines()) - 5, 3))
def test_a_dump_cut_inside_the_module_is_refused_and_what_came_before_it_is_kept(at: int):
    cut = "\n".join(SOURCE.splitlines()[:at])
    assert [state.pass_argument for state in read(VECTOR, cut)] == ["p0"]


def nested(depth: int) -> str:
    return '"x.y"() ({\n' * depth + "}) : () -> () loc(unknown)\n" * depth


def test_nesting_is_followed_to_a_depth_that_no_kernel_has():
    assert sum(1 for _ in parse_module(nested(MAX_DEPTH), FILE).top.walk()) == MAX_DEPTH
    with pytest.raises(ValueError, match="line 129 is not generic-form"):
        parse_module(nested(MAX_DEPTH + 1), FILE)


def located(location: str, aliases: str = "") -> str:
    return f'"x.y"() : () -> () loc({location})\n{aliases}'


def doubling(levels: int) -> str:
    """Each location names the next one twice: 2 ** `levels` paths."""
    lines = [f"#loc{i} = loc(callsite(#loc{i + 1} at #loc{i + 1}))" for i in range(levels)]
    return "\n".join([*lines, f"#loc{levels} = loc(unknown)"])


HOSTILE: dict[str, Callable[[], str]] = {
    "regions that nothing closes": lambda: '"x.y"() ({\n' * 20_000,
    "operations closed that nothing opened": lambda: "}) : () -> ()\n" * 20_000,
    "a billion results": lambda: '%0:999999999 = "x.y"() : () -> i32 loc(unknown)\n',
    "many results that have no type": lambda: '%0:60000 = "x.y"() : () -> i32 loc(unknown)\n' * 5_000,
    "quotes that nothing ends": lambda: '"x.y"() <{a = "' + '\\"' * 60_000 + "\n",
    "quotes that end in a backslash": lambda: '"x.y"() {a = ' + '"' * 60_001 + "\\\n",
    "brackets that nothing closes": lambda: '"x.y"() <{a = ' + "[" * 200_000 + "\n",
    "arrows": lambda: '"x.y"() : ' + "->" * 200_000 + "\n",
    "a label full of brackets": lambda: '"x.y"() ({\n^bb0(' + "):(" * 60_000 + "\n",
    "equals signs in place of results": lambda: "%" + " = " * 60_000 + "\n",
    "one attribute a character": lambda: '"x.y"() {' + "a," * 100_000 + "a} : () -> ()\n",
    "locations that double": lambda: located("#loc0", doubling(5_000)),
    "locations in a circle": lambda: located("#a", "#a = loc(callsite(#b at #a))\n#b = loc(fused[#a, #b])\n"),
    "callsites inside each other": lambda: located("callsite(" * 10_000 + "unknown" + " at unknown)" * 10_000),
    "fused locations inside each other": lambda: located("fused[" * 10_000 + "unknown" + "]" * 10_000),
    "names inside each other": lambda: located('"n"(' * 10_000 + "unknown" + ")" * 10_000),
    "a chain of aliases, each used": lambda: "".join(
        f'"x.y"() : () -> () loc(#loc{i})\n#loc{i} = loc("n"(#loc{i + 1}))\n' for i in range(20_000)
    ),
    "an alias that swells": lambda: f"#m = {'x' * 100_000}\n" + '"x.y"() {m = #m} : () -> ()\n' * 20_000,
    "many aliases": lambda: "".join(f"#m{i} = affine_map<>\n" for i in range(10_000)) + '"x.y"() {m = #m7} : () -> ()\n'
    * 10_000,
    "one line": lambda: "x" * 2_000_000,
    "nulls": lambda: "\x00\n" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_seconds_at_most(name: str):
    text = HOSTILE[name]()
    start = time.process_time()
    read(SOURCE, text)
    assert time.process_time() - start < 5


def test_a_chain_of_aliases_longer_than_the_stack_is_followed():
    aliases = {f"#loc{i}": f"callsite(#loc{i + 1} at unknown)" for i in range(5_000)}
    place = Places({**aliases, "#loc5000": '"k.py":8:2'}, FILE).resolve("#loc0")
    assert place is not None
    assert place.line == 8


def test_the_innermost_frame_of_the_user_wins_in_a_deep_callsite():
    aliases = {"#a": 'callsite("/lib/x.py":1:1 at #b)', "#b": 'callsite("k.py":4:1 at "k.py":9:1)'}
    place = Places(aliases, FILE).resolve('callsite(#a at "k.py":20:1)')
    assert place is not None
    assert place.line == 4


def test_a_string_that_nothing_ends_hides_the_brackets_in_it():
    assert split_commas('a, "b, c') == ["a", '"b, c']
    with pytest.raises(ValueError, match="unbalanced"):
        closing('(")', 0)


@pytest.mark.slow
def test_ten_thousand_mutants_of_a_dump_are_read_or_refused():
    chance = random.Random(20)  # noqa: S311 - the same mutants each time
    start = time.process_time()
    for _ in range(10_000):
        text = bytearray(chance.choice([SOURCE, LOWERED, VECTOR]).encode())
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(text))
            piece = chance.choice(PIECES).encode() * chance.choice([1, 1, 3])
            text[at : at + chance.choice([0, 1, 40])] = piece
        read(SOURCE, text.decode(errors="replace"))
    assert time.process_time() - start < 300
