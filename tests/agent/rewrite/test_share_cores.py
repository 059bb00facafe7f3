import pytest

from agent.rewrite.share_cores import share_cores

SIG = {"x_ptr": "*fp32", "n": "i32"}
CONSTS = {"B": 256}
HOST = "\n\ndef run(x):\n    rows = x.shape[0]\n"


def rewritten(apply, kernel: str, host: str, grid: tuple[int, int, int] = (4096, 1, 1)) -> str | None:
    found = apply(share_cores, kernel + HOST + host, SIG, CONSTS, grid=grid)
    return found.source.split("@triton.jit\n")[1] if found is not None else None


KERNEL = """def kern(x_ptr, n, B: tl.constexpr):
    pid = tl.program_id(0)  # the row
    # its place
    x_ptr += pid.to(tl.int64) * n

    tl.store(x_ptr + tl.arange(0, B), pid)
"""
LOOPED = """def kern(x_ptr, n, B: tl.constexpr, total_programs):
    for pid in range(tl.program_id(0), total_programs, tl.num_programs(0)):  # the row
        x_ptr_here = x_ptr
        # its place
        x_ptr_here += tl.cast(pid, tl.int64) * n

        tl.store(x_ptr_here + tl.arange(0, B), pid)
"""


STORE = "def kern(x_ptr, n, B: tl.constexpr):\n    tl.store(x_ptr + {}, tl.program_id(0))\n"


def test_the_body_loops_over_programs_and_the_host_launches_one_a_core(apply) -> None:
    source = rewritten(apply, KERNEL, "    kern[(rows,)](x, rows, B=256)\n")
    assert source == LOOPED + HOST + "    kern[(min(rows, 40),)](x, rows, B=256, total_programs=rows)\n"


@pytest.mark.parametrize(
    ("host", "launch"),
    [
        ("    kern[rows,](x, 1, B=256)\n", "kern[(min(rows, 40),)](x, 1, B=256, total_programs=rows)"),
        (
            "    grid = (triton.cdiv(rows, 2),)\n    kern[grid](x, 1, 256)\n",
            "kern[(min(grid[0], 40),)](x, 1, 256, total_programs=grid[0])",
        ),
        (
            "    kern[lambda meta: (triton.cdiv(rows, meta['B']),)](x, 1, B=B * 2)\n",
            "kern[(min(triton.cdiv(rows, (B * 2)), 40),)](x, 1, B=B * 2, total_programs=triton.cdiv(rows, (B * 2)))",
        ),
        (
            "    kern[(rows,)](\n        x,\n        1,\n        B=256,\n    )\n",
            "kern[(min(rows, 40),)](\n        x,\n        1,\n        B=256,\n        total_programs=rows,\n    )",
        ),
    ],
)
def test_each_way_to_write_a_grid_is_understood(apply, host: str, launch: str) -> None:
    source = rewritten(apply, KERNEL, host)
    assert source is not None
    assert launch in source


@pytest.mark.parametrize(
    "host",
    [
        "    kern[(rows, 2)](x, 1, B=256)\n",  # two axes
        "    kern[make_grid(rows)](x, 1, B=256)\n",  # not known
        "    kern[(next(rows),)](x, 1, B=256)\n",  # cannot be asked twice
        "    kern[lambda meta: (meta['A'],)](x, 1, B=256)\n",  # an autotuned value
        "    launch(kern, rows)\n",  # launched elsewhere
        "    kern[(rows,)](x, 1, B=256)\n    other = kern\n",  # and perhaps elsewhere
    ],
)
def test_a_host_that_is_not_understood_stays(apply, host: str) -> None:
    assert rewritten(apply, KERNEL, host) is None


@pytest.mark.parametrize(
    "kernel",
    [
        "def kern(x_ptr, n, B: tl.constexpr):\n    if tl.program_id(0) > n:\n        return\n    tl.store(x_ptr, 1)\n",
        "def kern(x_ptr, n, B: tl.constexpr):\n    p = tl.program_id(0) + tl.program_id(1)\n    tl.store(p, 1)\n",
        "def kern(x_ptr, n, B: tl.constexpr):\n    tl.store(x_ptr, 1)\n",
        f"def at():\n    return tl.program_id(0)\n\n\n{STORE.format('at()')}",
        STORE.format("unknown()"),
        STORE.format("torch.unknown()"),
    ],
)
def test_a_kernel_that_returns_early_or_asks_for_its_place_elsewhere_stays(apply, kernel: str) -> None:
    assert rewritten(apply, kernel, "    kern[(rows,)](x, 1, B=256)\n") is None


def test_fewer_programs_than_cores_stay(apply) -> None:
    assert rewritten(apply, KERNEL, "    kern[(rows,)](x, 1, B=256)\n", (40, 1, 1)) is None


def test_a_kernel_on_the_cube_has_half_the_cores(apply) -> None:
    kernel = "def kern(x_ptr, n, B: tl.constexpr):\n    a = tl.dot(n, tl.program_id(0))\n"
    source = rewritten(apply, kernel, "    kern[(rows,)](x, 1, B=256)\n")
    assert source is not None
    assert "min(rows, 20)" in source
    assert "a = tl.dot(n, program)" in source


def test_a_file_that_states_its_launch_gets_another_grid(apply) -> None:
    stated = 'KERNEL = kern\nCONSTS = {"B": 256}\nGRID = (4096,)\n'
    source = rewritten(apply, KERNEL, "    pass\n\n\n" + stated)
    assert source is not None
    assert source.endswith('CONSTS = {"B": 256, "total_programs": 4096}\nGRID = (40,)\n')


@pytest.mark.parametrize(
    ("host", "launch"),
    [
        (
            "    grid = lambda meta: (triton.cdiv(rows, meta['B']) * 2,)\n    kern[grid](x, rows)\n",
            "kern[lambda meta_2: (min(grid(meta_2)[0], 40),)](x, rows)\n",
        ),
        (
            "    kern[lambda meta: (triton.cdiv(rows, meta['B']) * 2,)](x, n=rows)\n",
            "kern[lambda meta: (min(triton.cdiv(rows, meta['B']) * 2, 40),)](x, n=rows)\n",
        ),
    ],
)
def test_a_grid_of_the_autotuner_is_said_in_the_kernels_own_words(apply, host: str, launch: str) -> None:
    source = rewritten(apply, KERNEL, host)
    assert source is not None
    assert source.startswith("def kern(x_ptr, n, B: tl.constexpr):\n")
    assert "for pid in range(tl.program_id(0), (tl.cdiv(n, B) * 2), tl.num_programs(0)):  # the row" in source
    assert source.endswith(launch)


def test_a_grid_of_what_the_kernel_is_not_given_stays(apply) -> None:
    host = "    kern[lambda meta: (triton.cdiv(rows, meta['B']),)](x, 1)\n"
    assert rewritten(apply, KERNEL, host) is None
