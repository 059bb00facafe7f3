import ast
from pathlib import Path

import pytest

from agent.configurations.batch import batch_programs
from agent.configurations.candidates import make_candidates
from agent.configurations.forms import dot_from_sum, grouped_order, hoisted_scale, staged_loops, tf32x3
from agent.configurations.places import KernelText, read_kernel_text
from agent.configurations.whole_row import whole_row

SUITE = Path(__file__).parents[3] / "bench" / "suite"


def _read(name: str) -> KernelText:
    file = read_kernel_text((SUITE / f"{name}.py").read_text())
    assert file is not None
    return file


def test_a_number_in_the_grid_changes_with_the_block_of_its_axis_only() -> None:
    text = _read("row_scale").configured({"BLOCK_M": 4, "BLOCK_N": 256})
    assert "grid = (triton.cdiv(M, 4), triton.cdiv(N, 256))" in text
    assert "BLOCK_M=4, BLOCK_N=256)" in text


def test_a_block_that_a_variable_names_is_changed_where_it_is_stated() -> None:
    text = _read("gelu_tanh").configured({"BLOCK_SIZE": 1024, "num_warps": 8})
    assert "\nBLOCK_SIZE = 1024\n" in text
    assert "BLOCK_SIZE=BLOCK_SIZE, num_warps=8)" in text


def test_options_that_the_launch_has_are_replaced() -> None:
    text = _read("rms_norm").configured({"num_warps": 2})
    assert "num_warps=2)" in text
    assert "num_warps=16" not in text


_FILES = sorted(SUITE.glob("*.py"))


@pytest.mark.parametrize(
    "path", [*_FILES[::9], *(pytest.param(p, marks=pytest.mark.slow) for p in _FILES)], ids=lambda p: p.stem
)
def test_every_kernel_of_the_suite_has_candidates_that_are_bounded_distinct_and_parse(path: Path) -> None:
    text = path.read_text()
    found = make_candidates(text, 12)
    assert 0 < len(found) <= 24
    assert len({made.text for made in found} | {text}) == len(found) + 1
    before = _contract(text)
    for made in found:
        assert _contract(made.text) == before, made.note


def _contract(text: str) -> list[str]:
    """Return what no candidate may change: inputs, reference, sizes."""
    kept = {"make_inputs", "reference"}
    tree = ast.parse(text).body
    functions = [ast.unparse(n) for n in tree if isinstance(n, ast.FunctionDef) and n.name in kept]
    return functions + [
        ast.unparse(n) for n in tree if isinstance(n, ast.Assign) and "SHAPES" in ast.unparse(n.targets[0])
    ]


def test_batched_programs_mask_the_places_behind_the_last() -> None:
    text = batch_programs(_read("softmax_columns"), 0)
    assert text is not None
    assert "softmax_columns_kernel[(triton.cdiv(n_cols, 4),)]" in text
    assert text.count("batch_valid[:, None]") == 2  # the load and the store
    assert "tl.sum(numerator, 1)[:, None]" in text


def test_what_a_loop_carries_gains_the_dimension_from_its_start() -> None:
    text = batch_programs(_read("linear_recurrence"), 0)
    assert text is not None
    assert "h = tl.full((BATCH,), 0.0, tl.float32)" in text


def test_places_are_added_up_before_an_atomic_that_all_of_them_share() -> None:
    text = batch_programs(_read("column_sum_atomic"), 0)
    assert text is not None
    assert "tl.atomic_add(out_ptr + cols, tl.sum(tl.where(batch_valid[:, None], grad, 0), 0), mask=mask)" in text


@pytest.mark.parametrize(
    ("name", "axis"), [("add_relu", 0), ("matmul_fp16", 0), ("swiglu", 1), ("attention_forward", 1)]
)
def test_programs_that_are_blocks_or_multiply_tiles_are_not_batched(name: str, axis: int) -> None:
    assert batch_programs(_read(name), axis) is None


def test_a_store_that_all_places_share_is_not_batched() -> None:
    text = (SUITE / "gather_columns.py").read_text().replace("tl.store(out_ptr + row,", "tl.store(out_ptr,")
    file = read_kernel_text(text)
    assert file is not None
    assert batch_programs(file, 0) is None


def test_a_row_at_once_has_no_loop_and_a_block_of_the_row() -> None:
    text = whole_row(_read("layer_norm_passes"))
    assert text is not None
    assert "BLOCK=triton.next_power_of_2(cols)" in text
    assert "for start" not in text


def test_a_bound_that_the_kernel_computes_is_computed_by_the_host() -> None:
    text = whole_row(_read("group_norm"))
    assert text is not None
    assert "triton.next_power_of_2(channels // groups * (height * width))" in text


def test_a_walk_over_tiles_of_a_product_is_not_taken_for_a_row() -> None:
    assert whole_row(_read("matmul_fp16")) is None


def test_a_scale_moves_behind_the_loop_only_from_a_sum_that_starts_from_zeros() -> None:
    file = _read("batched_matmul")
    text = hoisted_scale(file)
    assert text is not None
    assert "        acc += tl.dot(a, b)\n    acc = acc * scale\n" in text
    other = read_kernel_text(file.text.replace("tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", "tl.load(c_ptr)"))
    assert other is not None
    assert hoisted_scale(other) is None


def test_only_products_that_ask_for_single_precision_become_three_of_parts() -> None:
    text = tf32x3(_read("matmul_fp32"))
    assert text is not None
    assert 'input_precision="tf32x3"' in text
    assert tf32x3(_read("matmul_fp16")) is None


def test_a_sum_of_products_becomes_a_product_of_tiles() -> None:
    text = dot_from_sum(_read("matmul_by_sum"))
    assert text is not None
    assert "acc += tl.dot(a, b)" in text


def test_grouped_order_renames_both_axes_of_the_grid() -> None:
    text = grouped_order(_read("matmul_fp16"))
    assert text is not None
    assert "program_1, program_0 = tl.swizzle2d(tl.program_id(1), tl.program_id(0)," in text
    assert "rows = program_0 * BLOCK_M" in text
    assert grouped_order(_read("add_relu")) is None


def test_loops_that_load_get_stages_of_their_own() -> None:
    text = staged_loops(_read("sum_rows"), 3)
    assert text is not None
    assert "in tl.range(0, n_cols, BLOCK, num_stages=3):" in text


def test_a_file_of_two_launches_is_left_alone() -> None:
    text = (SUITE / "add_relu.py").read_text()
    again = text.replace("    return out\n", "    add_relu_kernel[(1,)](x, y, out, n, BLOCK=128)\n    return out\n", 1)
    assert make_candidates(again) == []
