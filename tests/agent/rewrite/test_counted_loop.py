import pytest

from agent.rewrite.counted_loop import counted_loop

SIG = {"x_ptr": "*fp32", "n": "i32"}
CONSTS = {"B": 256}
HEAD = "def kern(x_ptr, n, B: tl.constexpr):\n"


def rewritten(apply, text: str) -> str | None:
    found = apply(counted_loop, HEAD + text, SIG, CONSTS)
    return found.source.split(HEAD)[1] if found is not None else None


def test_a_counting_while_becomes_a_for(apply) -> None:
    text = "    i = 0  # first\n    while i < n:  # all\n        tl.store(x_ptr + i, 1.0)\n        i += 2  # next\n"
    assert rewritten(apply, text) == "    for i in range(0, n, 2):  # all\n        tl.store(x_ptr + i, 1.0)\n"


def test_a_count_that_starts_elsewhere_starts_from_itself(apply) -> None:
    text = "    i = tl.program_id(0)\n    while i < n:\n        tl.store(x_ptr + i, 1.0)\n        i += 1\n"
    source = rewritten(apply, text)
    assert source == "    i = tl.program_id(0)\n    for i in range(i, n):\n        tl.store(x_ptr + i, 1.0)\n"


def test_a_step_may_be_a_constexpr(apply) -> None:
    text = "    i = 0\n    while i < n:\n        tl.store(x_ptr + i, 1.0)\n        i += B * 2\n"
    assert rewritten(apply, text) == "    for i in range(0, n, B * 2):\n        tl.store(x_ptr + i, 1.0)\n"


STEP = "        i += 1\n"


@pytest.mark.parametrize(
    "text",
    [
        f"    i = 0\n    while i < n:\n        if i > 3:\n            i += 1\n{STEP}",  # counts elsewhere too
        f"    i = 0\n    while i < n:\n        n = n - 1\n{STEP}",  # the end moves
        f"    i = 0\n    while i < tl.load(x_ptr):\n        tl.store(x_ptr, 0.0)\n{STEP}",  # the end is read
        f"    i = 0\n    while i < n:\n        f(x_ptr)\n{STEP}    f(i)\n",  # the count is used
        f"    i = 0\n    while i < n:\n        if n > 5:\n            break\n{STEP}",  # leaves early
        f"    i = 0\n    while i <= n:\n        tl.store(x_ptr, 0.0)\n{STEP}",  # another test
        "    i = 0\n    while i < n:\n        tl.store(x_ptr, 0.0)\n        i *= 2\n",  # does not count
        "    i = 0\n    while i < n:\n        tl.store(x_ptr, 0.0)\n        i += n\n",  # perhaps not upwards
    ],
)
def test_any_other_loop_stays(apply, text: str) -> None:
    assert rewritten(apply, text) is None
