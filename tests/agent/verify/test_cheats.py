"""Each rule of the cheat scan catches its cheat and lets the honest variant of the same edit pass."""

import pytest

from agent.verify.cheats import RULES, find_cheats
from indexer.messages import LANGUAGES, render

ORIGINAL = """
import torch
import triton
import triton.language as tl

SHAPES = [(64, 32), (1000, 7)]


@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def make_inputs(seed, shape=SHAPES[0]):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)),)


def reference(x):
    return x * 2


def run(x):
    out = torch.empty_like(x)
    n = x.numel()
    scale[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return out
"""

MODEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        scale[(1,)](x, out, x.numel(), BLOCK=1024)
        return out


def get_inputs():
    return [torch.rand(1000)]
"""


def rules_broken(*edits: tuple[str, str], text: str = ORIGINAL) -> set[str]:
    candidate = text
    for old, new in edits:
        assert old in candidate, old
        candidate = candidate.replace(old, new)
    return {cheat.rule for cheat in find_cheats(text, candidate)}


LAUNCH = "    scale[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)\n"
RETURN = "    return out\n"

# rule: (cheating edits, honest edits)
PAIRS = {
    "reference_called": (
        [(RETURN, "    out.data = reference(x)\n    return out\n")],
        [(RETURN, '    """Computes what `reference` does."""\n    return out\n')],
    ),
    "cached_answer": (
        [("def run(x):\n", "_kept = {}\n\n\ndef run(x):\n    _kept[tuple(x.shape)] = x\n")],
        [("def run(x):\n", "def run(x):\n    sizes = {}\n    sizes['n'] = x.numel()\n")],
    ),
    "input_special_case": (
        [(LAUNCH, "    if x.shape == (64, 32):\n        return out\n" + LAUNCH)],
        [
            (
                LAUNCH,
                "    even = n % 256 == 0\n    if len(x.shape) == 2 and n <= 4096 and n != 0 and even:\n        pass\n"
                + LAUNCH,
            )
        ],
    ),
    "torch_work": (
        [(RETURN, "    return torch.relu(out)\n")],
        [("torch.empty_like(x)", "torch.empty(x.shape, dtype=x.dtype, device=x.device).view(x.shape)")],
    ),
    "outside_access": (
        [("import torch\n", "import torch\nimport os\n")],
        [("import torch\n", "import math\nimport torch\n")],
    ),
    "introspection": (
        [("def run(x):\n", "def run(x):\n    depth = len(globals())\n")],
        [("def run(x):\n", "def run(x):\n    kind = getattr(x, 'is_npu', False)\n")],
    ),
    "monkey_patch": (
        [("def run(x):\n", "def run(x):\n    torch.allclose = lambda *a, **k: True\n")],
        [("def run(x):\n", "def run(x):\n    allclose = x.shape\n")],
    ),
    "fallback": (
        [(LAUNCH, "    try:\n    " + LAUNCH + "    except Exception:\n        out = x\n")],
        [
            (
                LAUNCH,
                "    try:\n    " + LAUNCH + "    except RuntimeError as error:\n        raise ValueError from error\n",
            )
        ],
    ),
    "protected_changed": (
        [("return x * 2", "return x")],
        [("BLOCK=256", "BLOCK=512"), ("cdiv(n, 256)", "cdiv(n, 512)")],
    ),
    "no_launch": (
        [(LAUNCH, "")],
        [
            (LAUNCH, "    kernel = scale\n" + LAUNCH.replace("scale[", "scale_two[")),
            ("def make_inputs", "scale_two = scale\n\n\ndef make_inputs"),
        ],
    ),
}


@pytest.mark.parametrize("rule", PAIRS)
def test_the_cheat_is_caught_and_the_honest_edit_passes(rule):
    cheat, honest = PAIRS[rule]
    assert rule in rules_broken(*cheat)
    assert rules_broken(*honest) == set()


def test_every_rule_has_a_pair_and_a_sentence_in_both_languages():
    assert set(PAIRS) == {name for name, _ in RULES} | {"protected_changed", "no_launch"}
    for cheat, _ in PAIRS.values():
        candidate = ORIGINAL
        for old, new in cheat:
            candidate = candidate.replace(old, new)
        for found in find_cheats(ORIGINAL, candidate):
            assert all(render(found.note, lang) for lang in LANGUAGES)


@pytest.mark.parametrize(
    ("rule", "edits"),
    [
        ("cached_answer", [("def run(x):\n", "import functools\n\n\n@functools.lru_cache\ndef run(x):\n")]),
        ("cached_answer", [("def run(x):\n", "def run(x, kept=[]):\n    kept.append(x)\n")]),
        ("cached_answer", [("def run(x):\n", "def run(x):\n    global last\n    last = x\n")]),
        ("cached_answer", [("def run(x):\n", "def run(x):\n    run.last = x\n")]),
        ("cached_answer", [("def run(x):\n", "def run(x):\n    key = id(x)\n")]),
        ("cached_answer", [("def run(x):\n", "def run(x):\n    key = x.data_ptr()\n")]),
        ("cached_answer", [("def reference", "ANSWER = torch.randn(64)\n\n\ndef reference")]),
        ("input_special_case", [(LAUNCH, "    rows, columns = x.shape\n    if rows == 64:\n        pass\n" + LAUNCH)]),
        ("input_special_case", [(LAUNCH, "    if x.numel() in (2048, 7000):\n        pass\n" + LAUNCH)]),
        ("input_special_case", [("    at = ", "    if n == 2048:\n        return\n    at = ")]),
        (
            "input_special_case",
            [("def run", "N = 2048\n\n\ndef run"), (LAUNCH, "    if n == N:\n        pass\n" + LAUNCH)],
        ),
        ("torch_work", [(RETURN, "    return out.contiguous()\n")]),
        ("torch_work", [(RETURN, "    out[:4] = 0\n    return out\n")]),
        ("torch_work", [(RETURN, "    return out * 1\n")]),
        ("torch_work", [(RETURN, "    out += x\n    return out\n")]),
        ("torch_work", [(RETURN, "    return x @ out\n")]),
        (
            "torch_work",
            [
                ("import torch\n", "import torch\nimport torch.nn.functional as F\n"),
                (RETURN, "    return F.relu(out)\n"),
            ],
        ),
        ("outside_access", [("def run(x):\n", "def run(x):\n    text = open('/tmp/x').read()\n")]),
        ("outside_access", [("def run(x):\n", "def run(x):\n    exec('x = 1')\n")]),
        ("introspection", [("def run(x):\n", "def run(x):\n    code = run.__code__\n")]),
        ("introspection", [("def run(x):\n", "import inspect\n\n\ndef run(x):\n")]),
        ("monkey_patch", [("def run(x):\n", "tl.load = tl.store\n\n\ndef run(x):\n")]),
        ("monkey_patch", [("def run(x):\n", "torch = None\n\n\ndef run(x):\n")]),
        ("fallback", [(LAUNCH, "    import contextlib\n    with contextlib.suppress(Exception):\n    " + LAUNCH)]),
        ("protected_changed", [("SHAPES = [(64, 32), (1000, 7)]", "SHAPES = [(64, 32)]")]),
        ("protected_changed", [("(torch.randn(shape", "(0 * torch.randn(shape")]),
        ("protected_changed", [(RETURN, RETURN + "\n\nif True:\n    reference = run\n")]),
    ],
)
def test_other_ways_of_the_same_cheats_are_caught(rule, edits):
    assert rule in rules_broken(*edits)


def test_what_the_original_does_itself_is_no_cheat():
    odd = ORIGINAL.replace("import torch\n", "import os\nimport torch\n").replace(
        RETURN, "    return out.contiguous()\n"
    )
    assert find_cheats(odd, odd.replace("BLOCK=256", "BLOCK=512")) == ()
    assert {c.rule for c in find_cheats(odd, odd.replace("import os\n", "import os\nimport sys\n"))} == {
        "outside_access"
    }


def test_a_kernelbench_model_is_the_reference_and_its_replacement_is_not():
    assert rules_broken(("return x * 2", "return x"), text=MODEL) == {"protected_changed"}
    assert rules_broken(("BLOCK=1024", "BLOCK=2048"), text=MODEL) == set()
    called = ("        return out\n", "        return Model()(x)\n")
    assert "reference_called" in rules_broken(called, text=MODEL)
    inherited = ("class ModelNew(torch.nn.Module):", "class ModelNew(Model):")
    assert "reference_called" in rules_broken(inherited, text=MODEL)
    assert "cached_answer" in rules_broken(
        ("        return out\n", "        self.out = out\n        return out\n"), text=MODEL
    )


def test_a_main_block_of_a_module_with_inputs_is_never_run_and_not_scanned():
    tried = (
        '\n\nif __name__ == "__main__":\n    print(torch.allclose(run(*make_inputs(0)), reference(*make_inputs(0))))\n'
    )
    assert find_cheats(ORIGINAL, ORIGINAL + tried) == ()


def test_a_candidate_that_does_not_parse_has_no_cheats():
    assert find_cheats(ORIGINAL, ORIGINAL + "def (") == ()
