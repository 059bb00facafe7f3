"""Linalg IR runs on the CPU as it is written. The modules here are small ones of our own, loaded in this process."""

# ruff: noqa: E501 - MLIR has one operation a line

import ctypes
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from agent.records import Launch
from agent.verify.linalg import Library, NotBuilt, build_library
from agent.verify.llvm import find_llvm, missing_tools

pytestmark = pytest.mark.skipif(find_llvm() is None, reason=f"not installed: {', '.join(missing_tools())}")

HIDDEN = "%h0: memref<?xi8>, %h1: memref<?xi8>"
GRID = "%nx: i32, %ny: i32, %nz: i32, %x: i32, %y: i32, %z: i32"
ATTRIBUTES = 'attributes {SyncBlockLockArgIdx = 0 : i64, WorkspaceArgIdx = 1 : i64, mix_mode = "aiv"}'


def module(arguments: str, body: str, before: str = "") -> str:
    """Wrap a body as the adapter does: hidden arguments first, the grid last."""
    return (
        f"module {{\n{before}\n  func.func @kern({HIDDEN}, {arguments}, {GRID}) {ATTRIBUTES} {{\n"
        f"{textwrap.indent(textwrap.dedent(body), '    ')}\n    return\n  }}\n}}\n"
    )


def launch(**signature: str) -> Launch:
    return Launch("kern", Path("k.py"), 1, signature, {}, (1, 1, 1))


def build(text: str, folder: Path, **signature: str) -> Library:
    built = build_library(text, launch(**signature), folder)
    assert isinstance(built, Library), built
    return built


def call(library: Library, *arguments: object, grid: tuple[int, int, int] = (1, 1, 1)) -> None:
    passed = [ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray) else a for a in arguments]
    getattr(ctypes.CDLL(str(library.path)), library.symbol)(*passed, *map(ctypes.c_int, grid))


def block(pointer: str, kind: str, size: int, offset: str = "%c0", name: str = "%view") -> str:
    return (
        f"{name} = memref.reinterpret_cast {pointer} to offset: [{offset}], sizes: [{size}], strides: [1] : "
        f"memref<?x{kind}> to memref<{size}x{kind}, strided<[1], offset: ?>>"
    )


def unary(kind: str, operation: str, size: int = 8) -> str:
    """Load a block, apply an operation to the tensor `%t`, store `%r`."""
    view = f"memref<{size}x{kind}, strided<[1], offset: ?>>"
    return f"""
        %c0 = arith.constant 0 : index
        {block("%a", kind, size, name="%in")}
        {block("%b", kind, size, name="%out")}
        %alloc = memref.alloc() : memref<{size}x{kind}>
        memref.copy %in, %alloc : {view} to memref<{size}x{kind}>
        annotation.mark %alloc {{SomeHint}} : memref<{size}x{kind}>
        %t = bufferization.to_tensor %alloc restrict writable : memref<{size}x{kind}>
        {operation}
        bufferization.materialize_in_destination %r in writable %out : (tensor<{size}x{kind}>, {view}) -> ()
    """


def apply_unary(tmp_path: Path, operation: str, values: np.ndarray, kind: str = "f32", before: str = "") -> np.ndarray:
    text = module(f"%a: memref<?x{kind}>, %b: memref<?x{kind}>", unary(kind, operation, len(values)), before)
    result = np.zeros_like(values)
    call(build(text, tmp_path, a=f"*{kind}", b=f"*{kind}"), values, result)
    return result


def test_every_program_of_the_grid_runs_with_its_own_indices(tmp_path):
    body = """
        %row = arith.muli %z, %ny : i32
        %plane = arith.addi %row, %y : i32
        %line = arith.muli %plane, %nx : i32
        %number = arith.addi %line, %x : i32
        %at = arith.index_cast %number : i32 to index
        %one = memref.reinterpret_cast %a to offset: [%at], sizes: [1], strides: [1] : memref<?xi32> to memref<1xi32, strided<[1], offset: ?>>
        %c0 = arith.constant 0 : index
        memref.store %number, %one[%c0] : memref<1xi32, strided<[1], offset: ?>>
    """
    library = build(module("%a: memref<?xi32>", body), tmp_path, a="*i32")
    written = np.full(25, -1, np.int32)
    call(library, written, grid=(4, 3, 2))
    assert written.tolist() == [*range(24), -1]


SCALARS = {
    "i1": ("i1", np.bool_, ctypes.c_bool(True), True),  # noqa: FBT003
    "i8": ("i8", np.int8, ctypes.c_int8(-3), -3),
    "i16": ("u16", np.int16, ctypes.c_int16(-300), -300),
    "i32": ("i32", np.int32, ctypes.c_int32(1 << 30), 1 << 30),
    "i64": ("i64", np.int64, ctypes.c_int64(1 << 60), 1 << 60),
    "f32": ("fp32", np.float32, ctypes.c_float(1.5), 1.5),
    "f64": ("fp64", np.float64, ctypes.c_double(0.1), 0.1),
}


def test_a_scalar_of_every_type_arrives_beside_pointers(tmp_path):
    body, arguments, signature, passed = "%c0 = arith.constant 0 : index\n", [], {}, []
    for kind, (triton, numpy_type, value, _) in SCALARS.items():
        arguments += [f"%p{kind}: memref<?x{kind}>", f"%v{kind}: {kind}"]
        signature |= {f"p{kind}": f"*{triton}", f"v{kind}": triton}
        passed += [np.zeros(1, numpy_type), value]
        body += block(f"%p{kind}", kind, 1, name=f"%m{kind}")
        body += f"\nmemref.store %v{kind}, %m{kind}[%c0] : memref<1x{kind}, strided<[1], offset: ?>>\n"
    call(build(module(", ".join(arguments), body), tmp_path, **signature), *passed)
    assert [array[0] for array in passed[::2]] == [expected for *_, expected in SCALARS.values()]


def test_a_masked_tail_is_neither_read_nor_written(tmp_path):
    body = """
        %c0 = arith.constant 0 : index
        %n = arith.index_cast %count : i32 to index
        %in = memref.reinterpret_cast %a to offset: [0], sizes: [8], strides: [1] : memref<?xf32> to memref<8xf32, strided<[1]>>
        %out = memref.reinterpret_cast %b to offset: [0], sizes: [8], strides: [1] : memref<?xf32> to memref<8xf32, strided<[1]>>
        %alloc = memref.alloc() : memref<8xf32>
        %from = memref.subview %in[0] [%n] [1] : memref<8xf32, strided<[1]>> to memref<?xf32, strided<[1]>>
        %to = memref.subview %alloc[0] [%n] [1] : memref<8xf32> to memref<?xf32, strided<[1]>>
        memref.copy %from, %to : memref<?xf32, strided<[1]>> to memref<?xf32, strided<[1]>>
        %t = bufferization.to_tensor %alloc restrict writable : memref<8xf32>
        %r = arith.addf %t, %t : tensor<8xf32>
        %part = tensor.extract_slice %r[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
        %where = memref.subview %out[0] [%n] [1] : memref<8xf32, strided<[1]>> to memref<?xf32, strided<[1]>>
        bufferization.materialize_in_destination %part in writable %where : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
    """
    library = build(
        module("%a: memref<?xf32>, %b: memref<?xf32>, %count: i32", body), tmp_path, a="*fp32", b="*fp32", n="i32"
    )
    result = np.full(8, 9, np.float32)
    call(library, np.arange(8, dtype=np.float32), result, ctypes.c_int(5))
    assert result.tolist() == [0, 2, 4, 6, 8, 9, 9, 9]


def test_a_strided_copy_takes_every_second_element(tmp_path):
    body = """
        %in = memref.reinterpret_cast %a to offset: [1], sizes: [2, 3], strides: [6, 2] : memref<?xf32> to memref<2x3xf32, strided<[6, 2], offset: 1>>
        %out = memref.reinterpret_cast %b to offset: [0], sizes: [2, 3], strides: [3, 1] : memref<?xf32> to memref<2x3xf32, strided<[3, 1]>>
        memref.copy %in, %out : memref<2x3xf32, strided<[6, 2], offset: 1>> to memref<2x3xf32, strided<[3, 1]>>
    """
    library = build(module("%a: memref<?xf32>, %b: memref<?xf32>", body), tmp_path, a="*fp32", b="*fp32")
    result = np.zeros(6, np.float32)
    call(library, np.arange(12, dtype=np.float32), result)
    assert result.tolist() == [1, 3, 5, 7, 9, 11]


def test_a_buffer_carried_from_one_turn_of_a_loop_to_the_next_keeps_its_content(tmp_path):
    body = """
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %zero = arith.constant 0.0 : f32
        %none = tensor.empty() : tensor<2xf32>
        %start = linalg.fill ins(%zero : f32) outs(%none : tensor<2xf32>) -> tensor<2xf32>
        %sum, %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %start, %before = %start) -> (tensor<2xf32>, tensor<2xf32>) {
          %at = arith.muli %i, %c1 : index
          %in = memref.reinterpret_cast %a to offset: [%at], sizes: [2], strides: [1] : memref<?xf32> to memref<2xf32, strided<[1], offset: ?>>
          %alloc = memref.alloc() : memref<2xf32>
          memref.copy %in, %alloc : memref<2xf32, strided<[1], offset: ?>> to memref<2xf32>
          %now = bufferization.to_tensor %alloc restrict writable : memref<2xf32>
          %product = arith.mulf %before, %now : tensor<2xf32>
          %next = arith.addf %acc, %product : tensor<2xf32>
          scf.yield %next, %now : tensor<2xf32>, tensor<2xf32>
        }
        %out = memref.reinterpret_cast %b to offset: [0], sizes: [2], strides: [1] : memref<?xf32> to memref<2xf32, strided<[1]>>
        bufferization.materialize_in_destination %sum in writable %out : (tensor<2xf32>, memref<2xf32, strided<[1]>>) -> ()
    """
    library = build(module("%a: memref<?xf32>, %b: memref<?xf32>", body), tmp_path, a="*fp32", b="*fp32")
    given, result = np.arange(1, 6, dtype=np.float32), np.zeros(2, np.float32)
    call(library, given, result)
    assert result.tolist() == [1 * 2 + 2 * 3 + 3 * 4, 2 * 3 + 3 * 4 + 4 * 5]


def test_a_matrix_product_adds_in_rising_order_of_k(tmp_path):
    def view(name: str, pointer: str, rows: int, columns: int, kind: str) -> str:
        return (
            f"%{name} = memref.reinterpret_cast %{pointer} to offset: [0], sizes: [{rows}, {columns}], "
            f"strides: [{columns}, 1] : memref<?x{kind}> to memref<{rows}x{columns}x{kind}, strided<[{columns}, 1]>>\n"
        )

    body = view("a", "p", 5, 40, "f16") + view("b", "q", 40, 7, "f16") + view("c", "o", 5, 7, "f32")
    for name, kind in (("a", "5x40xf16"), ("b", "40x7xf16")):
        stride = kind.split("x")[1]
        body += f"%l{name} = memref.alloc() : memref<{kind}>\n"
        body += f"memref.copy %{name}, %l{name} : memref<{kind}, strided<[{stride}, 1]>> to memref<{kind}>\n"
        body += f"%t{name} = bufferization.to_tensor %l{name} restrict writable : memref<{kind}>\n"
    body += """
%zero = arith.constant 0.0 : f32
%none = tensor.empty() : tensor<5x7xf32>
%start = linalg.fill ins(%zero : f32) outs(%none : tensor<5x7xf32>) -> tensor<5x7xf32>
%r = linalg.matmul {input_precison = "ieee"} ins(%ta, %tb : tensor<5x40xf16>, tensor<40x7xf16>) outs(%start : tensor<5x7xf32>) -> tensor<5x7xf32>
bufferization.materialize_in_destination %r in writable %c : (tensor<5x7xf32>, memref<5x7xf32, strided<[7, 1]>>) -> ()
"""
    text = module("%p: memref<?xf16>, %q: memref<?xf16>, %o: memref<?xf32>", body)
    random = np.random.default_rng(0)
    a, b = (random.normal(size=size).astype(np.float16) for size in ((5, 40), (40, 7)))
    result, expected = np.zeros((5, 7), np.float32), np.zeros((5, 7), np.float32)
    call(build(text, tmp_path, p="*fp16", q="*fp16", o="*fp32"), a, b, result)
    for k in range(40):
        expected += a[:, k : k + 1].astype(np.float32) * b[k].astype(np.float32)
    np.testing.assert_array_equal(result, expected)


def test_relu_of_the_device_library_keeps_nan(tmp_path):
    given = np.array([-1, 0, 2, np.nan], np.float32)
    mapped = "%r = linalg.map { func.call {callee = @__hmf_reluf} } ins(%t : tensor<4xf32>) outs(%t : tensor<4xf32>)"
    declared = "  func.func private @__hmf_reluf(f32) -> f32 attributes {llvm.readnone}"
    result = apply_unary(tmp_path, mapped, given, before=declared)
    np.testing.assert_array_equal(result, [0, 0, 2, np.nan])


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("triton_cumsum", np.array([[1, 3, 6], [4, 9, 15]])),
        ("triton_cumprod_0", np.array([[1, 2, 6], [4, 20, 120]])),
        ("triton_sort", np.array([[1, 2, 3], [4, 5, 6]])),
    ],
)
def test_scans_and_sorts_of_the_device_library_run_along_the_last_axis(tmp_path, symbol, expected):
    assert _run_along(tmp_path, symbol, axis=1, flag="false").tolist() == expected.tolist()


def test_a_scan_along_the_first_axis_and_a_reversed_one_go_the_other_way(tmp_path):
    assert _run_along(tmp_path, "triton_cumsum", axis=0, flag="false").tolist() == [[1, 2, 3], [5, 7, 9]]
    assert _run_along(tmp_path, "triton_cumsum", axis=1, flag="true").tolist() == [[6, 5, 3], [15, 11, 6]]


def _run_along(tmp_path: Path, symbol: str, axis: int, flag: str) -> np.ndarray:
    index = "i64" if "sort" in symbol else "i32"
    body = f"""
        %axis = arith.constant {axis} : {index}
        %flag = arith.constant {flag}
        %in = memref.reinterpret_cast %a to offset: [0], sizes: [2, 3], strides: [3, 1] : memref<?xf32> to memref<2x3xf32, strided<[3, 1]>>
        %out = memref.reinterpret_cast %b to offset: [0], sizes: [2, 3], strides: [3, 1] : memref<?xf32> to memref<2x3xf32, strided<[3, 1]>>
        %alloc = memref.alloc() : memref<2x3xf32>
        memref.copy %in, %alloc : memref<2x3xf32, strided<[3, 1]>> to memref<2x3xf32>
        %t = bufferization.to_tensor %alloc restrict writable : memref<2x3xf32>
        %r = call @{symbol}(%t, %axis, %flag) : (tensor<2x3xf32>, {index}, i1) -> tensor<2x3xf32>
        bufferization.materialize_in_destination %r in writable %out : (tensor<2x3xf32>, memref<2x3xf32, strided<[3, 1]>>) -> ()
    """
    declared = f"  func.func private @{symbol}(tensor<2x3xf32>, {index}, i1) -> tensor<2x3xf32>"
    text = module("%a: memref<?xf32>, %b: memref<?xf32>", body, declared)
    given = np.array([[3, 1, 2], [6, 4, 5]] if "sort" in symbol else [[1, 2, 3], [4, 5, 6]], np.float32)
    result = np.zeros((2, 3), np.float32)
    call(build(text, tmp_path, a="*fp32", b="*fp32"), given, result)
    return result


@pytest.mark.parametrize(("mode", "compare", "wrong_start"), [("min", "slt", 127), ("max", "sgt", -128)])
def test_an_integer_argmin_or_argmax_starts_from_its_own_types_bound(tmp_path, mode, compare, wrong_start):
    body = f"""
        %value = arith.constant {wrong_start} : i32
        %minus = arith.constant -1 : i32
        %in = memref.reinterpret_cast %a to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<?xi32> to memref<2x4xi32, strided<[4, 1]>>
        %out = memref.reinterpret_cast %b to offset: [0], sizes: [2], strides: [1] : memref<?xi32> to memref<2xi32, strided<[1]>>
        %alloc = memref.alloc() : memref<2x4xi32>
        memref.copy %in, %alloc : memref<2x4xi32, strided<[4, 1]>> to memref<2x4xi32>
        %t = bufferization.to_tensor %alloc restrict writable : memref<2x4xi32>
        %none = tensor.empty() : tensor<2x4xi32>
        %at = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}} outs(%none : tensor<2x4xi32>) {{
        ^bb0(%o: i32):
          %i = linalg.index 1 : index
          %j = arith.index_cast %i : index to i32
          linalg.yield %j : i32
        }} -> tensor<2x4xi32>
        %empty = tensor.empty() : tensor<2xi32>
        %first = linalg.fill ins(%value : i32) outs(%empty : tensor<2xi32>) -> tensor<2xi32>
        %second = linalg.fill ins(%minus : i32) outs(%empty : tensor<2xi32>) -> tensor<2xi32>
        %r:2 = linalg.reduce ins(%t, %at : tensor<2x4xi32>, tensor<2x4xi32>) outs(%first, %second : tensor<2xi32>, tensor<2xi32>) dimensions = [1]  {{reduce_mode = "{mode}_with_index", tie_break_left = "true"}}
          (%v: i32, %n: i32, %kept: i32, %place: i32) {{
            %better = arith.cmpi {compare}, %v, %kept : i32
            %new = arith.select %better, %v, %kept : i32
            %where = arith.select %better, %n, %place : i32
            linalg.yield %new, %where : i32, i32
          }}
        bufferization.materialize_in_destination %r#1 in writable %out : (tensor<2xi32>, memref<2xi32, strided<[1]>>) -> ()
    """
    library = build(module("%a: memref<?xi32>, %b: memref<?xi32>", body), tmp_path, a="*i32", b="*i32")
    far = np.array([[900, 700, 800, 999], [500, 600, 400, 300]], np.int32)
    result = np.zeros(2, np.int32)
    call(library, far if mode == "min" else -far, result)
    assert result.tolist() == [1, 3]


@pytest.mark.parametrize("name", ["double", "exp"])
def test_a_kernel_may_have_the_name_of_anything_in_c(tmp_path, name):
    body = (
        "%c0 = arith.constant 0 : index\n"
        + block("%a", "f32", 1)
        + """
        %v = memref.load %view[%c0] : memref<1xf32, strided<[1], offset: ?>>
        %e = math.exp %v : f32
        memref.store %e, %view[%c0] : memref<1xf32, strided<[1], offset: ?>>
    """
    )
    library = build(module("%a: memref<?xf32>", body).replace("@kern(", f"@{name}("), tmp_path, a="*fp32")
    value = np.zeros(1, np.float32)
    call(library, value)
    assert (library.symbol, value[0]) == (f"run_{name}", 1)


def test_local_memory_that_is_read_before_it_is_written_is_nan(tmp_path):
    result = apply_unary(tmp_path, "%r = tensor.empty() : tensor<4xf32>", np.ones(4, np.float32))
    assert np.isnan(result).all()


def test_a_program_that_needs_too_much_local_memory_says_so_and_ends(tmp_path):
    body = """
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = arith.index_cast %count : i32 to index
        scf.for %i = %c0 to %n step %c1 {
          %alloc = memref.alloc(%n) : memref<?xf32>
          %one = arith.constant 1.0 : f32
          memref.store %one, %alloc[%i] : memref<?xf32>
          %in = memref.reinterpret_cast %a to offset: [0], sizes: [%n], strides: [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
          %again = memref.alloc(%i) : memref<?xf32>
          %part = memref.subview %alloc[0] [%i] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
          memref.copy %part, %again : memref<?xf32, strided<[1]>> to memref<?xf32>
          %v = memref.load %again[%c0] : memref<?xf32>
          memref.store %v, %in[%c0] : memref<?xf32, strided<[1]>>
        }
    """
    library = build(module("%a: memref<?xf32>, %count: i32", body), tmp_path, a="*fp32", n="i32")
    script = f"import ctypes; ctypes.CDLL({str(library.path)!r}).run_kern((ctypes.c_float * 100000)(), 100000, 1, 1, 1)"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode < 0
    assert "one program of kern needs more than" in ended.stderr


def test_a_build_is_taken_from_the_folder_when_the_text_is_the_same(tmp_path):
    text = module("%a: memref<?xf32>", "")
    first = build(text, tmp_path, a="*fp32").path
    written = first.stat().st_mtime_ns
    assert build(text, tmp_path, a="*fp32").path == first
    assert first.stat().st_mtime_ns == written
    assert build(module("%a: memref<?xf16>", ""), tmp_path, a="*fp16").path != first
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".o", ".so", ".so"]  # the runtime's is compiled once


@pytest.mark.parametrize(
    ("text", "signature", "key"),
    [
        ("module {}", {"a": "*fp32"}, "verify.unreadable_ir"),
        (module("%a: memref<?xf32>, %n: i32", ""), {"a": "*fp32"}, "verify.other_signature"),
        (module("%a: memref<?xf32>, %n: i32", ""), {"a": "*fp32", "n": "i64"}, "verify.other_signature"),
        (module("%a: memref<?x!x.y>", ""), {"a": "*fp32"}, "verify.unreadable_ir"),
        (
            module("%a: memref<?xf32>", "", "  func.func private @triton_odd(tensor<?xf32>) -> f32"),
            {"a": "*fp32"},
            "verify.unknown_external",
        ),
        (module("%a: memref<?xf32>", "hivm.hir.do %a"), {"a": "*fp32"}, "verify.tool_failed"),
    ],
)
def test_ir_that_cannot_be_run_is_a_result_with_its_reason(tmp_path, text, signature, key):
    built = build_library(text, launch(**signature), tmp_path)
    assert isinstance(built, NotBuilt)
    assert built.reason.key == key
    assert not list(tmp_path.rglob("*.so"))
