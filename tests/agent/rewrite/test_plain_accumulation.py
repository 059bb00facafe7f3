import pytest

from agent.rewrite.plain_accumulation import plain_accumulation

SIG = {"a_ptr": "*fp16", "r_ptr": "*fp32", "s": "fp32", "K": "i32"}
CONSTS = {"M": 64, "N": 32}
HEAD = """def kern(a_ptr, r_ptr, s, K, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
"""
TAIL = "    tl.store(r_ptr + at, acc)\n"


def rewritten(apply, text: str) -> str | None:
    found = apply(plain_accumulation, HEAD + text + TAIL, SIG, CONSTS)
    return found.source.split(HEAD)[1].removesuffix(TAIL) if found is not None else None


LOOP = "    for k in range(0, K):\n        a = tl.load(a_ptr + at)\n        {step}\n"
ZERO = "    acc = tl.zeros((M, N), dtype=tl.float32)\n"
START = "    acc = tl.load(r_ptr + at)  # residual\n"
PLAIN = LOOP.format(step="acc += tl.dot(a, a)")


@pytest.mark.parametrize("step", ["acc += tl.dot(a, a) * s", "acc += s * tl.dot(a, a)", "acc = acc + tl.dot(a, a) * s"])
def test_a_scale_comes_after_the_loop(apply, step: str) -> None:
    source = rewritten(apply, ZERO + LOOP.format(step=step))
    assert source == ZERO + LOOP.format(step=step.replace(" * s", "").replace("s * ", "")) + "    acc = acc * s\n"


@pytest.mark.parametrize("step", ["acc += tl.dot(a, a)", "acc = tl.dot(a, a, acc)", "acc = tl.dot(a, a, acc=acc)"])
def test_a_start_value_comes_after_the_loop(apply, step: str) -> None:
    source = rewritten(apply, START + LOOP.format(step=step))
    assert source == ZERO + LOOP.format(step=step) + "    acc += tl.load(r_ptr + at)  # residual\n"


def test_scale_and_start_move_together(apply) -> None:
    source = rewritten(apply, START + LOOP.format(step="acc += tl.dot(a, a) * s"))
    assert source == ZERO + PLAIN + "    acc = acc * s\n    acc += tl.load(r_ptr + at)  # residual\n"


def test_a_product_with_a_name_of_its_own_is_scaled_after_the_loop(apply) -> None:
    source = rewritten(apply, ZERO + LOOP.format(step="p = tl.dot(a, a)\n        acc = acc + s * p"))
    assert source == ZERO + LOOP.format(step="p = tl.dot(a, a)\n        acc = acc + p") + "    acc = acc * s\n"


def test_a_start_value_whose_names_the_loop_changes_is_kept_before_it(apply) -> None:
    source = rewritten(apply, START + LOOP.format(step="acc += tl.dot(a, a)\n        at += 1"))
    assert source is not None
    assert source.startswith("    start = tl.load(r_ptr + at)\n" + ZERO.rstrip())
    assert source.endswith("    acc += start\n")


@pytest.mark.parametrize(
    "text",
    [
        ZERO + PLAIN,  # nothing to move
        ZERO + LOOP.format(step="acc += tl.dot(a, a) * k"),  # the scale changes
        ZERO + LOOP.format(step="acc += tl.dot(a, a) * tl.load(r_ptr)"),  # the scale may change
        START + LOOP.format(step="acc = acc * s + tl.dot(a, a)"),  # the sum itself is scaled
        START + LOOP.format(step="acc += tl.dot(a, a)\n        b = acc * 2"),  # the loop reads it
        START + LOOP.format(step="acc += tl.dot(a, a)\n        tl.store(r_ptr, 1.0)"),  # the loop writes memory
        START + "    b = acc + 1\n" + PLAIN,  # it is read in between
        "    acc = 1.0\n" + PLAIN,  # no tile
    ],
)
def test_anything_else_stays(apply, text: str) -> None:
    assert rewritten(apply, text) is None
