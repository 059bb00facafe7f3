"""The C around one kernel: the loop over the grid, its local memory, and copies between strided buffers."""

from __future__ import annotations

from agent.verify.cleanup import DEVICE_SYMBOL
from agent.verify.signature import C_TYPES, DeviceFunction

# Local memory of one program. On-chip memory is 192 KiB to 1 MiB; a kernel that allocates in a loop it cannot hoist
# needs a multiple of that here, where nothing is freed before the program ends.
ARENA_BYTES = 1 << 30

_RUNTIME = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char *arena;
static size_t used;

/* Bytes 0xff are a NaN of every float type: reading local memory before writing it shows in the result. */
void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  size_t rounded = (bytes + 63) & ~(size_t)63;
  if (rounded < bytes || rounded > ARENA_BYTES - used) {
    fprintf(stderr, "tritonkb: one program of " KERNEL_NAME " needs more than %zu MiB of local memory\\n",
            (size_t)ARENA_BYTES >> 20);
    abort();
  }
  void *block = arena + used;
  used += rounded;
  memset(block, 0xff, rounded);
  return block;
}
void *_mlir_memref_to_llvm_aligned_alloc(size_t alignment, size_t bytes) {
  (void)alignment;
  return _mlir_memref_to_llvm_alloc(bytes);
}
void _mlir_memref_to_llvm_free(void *block) { (void)block; }

struct unranked { int64_t rank; void *descriptor; };
struct ranked { char *allocated; char *aligned; int64_t offset; int64_t sizes[]; };

static void copy_level(char *to, const char *from, int64_t rank, const int64_t *sizes, const int64_t *to_strides,
                       const int64_t *from_strides, int64_t element) {
  if (rank == 0) { memcpy(to, from, element); return; }
  if (rank == 1 && to_strides[0] == 1 && from_strides[0] == 1) { memmove(to, from, sizes[0] * element); return; }
  for (int64_t i = 0; i < sizes[0]; i++)
    copy_level(to + i * to_strides[0] * element, from + i * from_strides[0] * element, rank - 1, sizes + 1,
               to_strides + 1, from_strides + 1, element);
}
void memrefCopy(int64_t element, struct unranked *from, struct unranked *to) {
  struct ranked *source = from->descriptor, *target = to->descriptor;
  int64_t rank = from->rank;
  copy_level(target->aligned + target->offset * element, source->aligned + source->offset * element, rank,
             source->sizes, target->sizes + rank, source->sizes + rank, element);
}

static void open_arena(void) {
  if (arena) return;
  arena = mmap(0, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) { perror("tritonkb: local memory of " KERNEL_NAME); abort(); }
}
"""


def entry_symbol(kernel: str) -> str:
    """Return the name of the function that runs the whole grid."""
    return f"run_{kernel}"


def write_driver(function: DeviceFunction) -> str:
    """Write the C that runs `function` for each program of a grid: `void run_<kernel>(arguments…, gx, gy, gz)`.

    A tensor is a `void *` to its first element, a scalar its C type. Programs run one after the other.
    """
    wanted = [f"{'void *' if a.pointer else C_TYPES[a.type] + ' '}a{i}" for i, a in enumerate(function.arguments)]
    declared = ["void *, void *, int64_t, int64_t, int64_t"] * function.hidden
    passed = ["0, 0, 0, 0, 0"] * function.hidden
    for number, argument in enumerate(function.arguments):
        # A rank-one memref is five words: allocated, aligned, offset, size, stride; the kernel never asks the size.
        declared.append("void *, void *, int64_t, int64_t, int64_t" if argument.pointer else C_TYPES[argument.type])
        passed.append(f"a{number}, a{number}, 0, INT64_MAX, 1" if argument.pointer else f"a{number}")
    return "\n".join(
        [
            f'#define KERNEL_NAME "{function.name}"',
            f"#define ARENA_BYTES {ARENA_BYTES}ul",
            _RUNTIME,
            f"extern void {DEVICE_SYMBOL}({', '.join([*declared, *['int32_t'] * 6])});",
            f"void {entry_symbol(function.name)}({', '.join([*wanted, 'int gx', 'int gy', 'int gz'])}) {{",
            "  open_arena();",
            "  for (int z = 0; z < gz; z++)",
            "    for (int y = 0; y < gy; y++)",
            "      for (int x = 0; x < gx; x++) {",
            "        used = 0;",
            f"        {DEVICE_SYMBOL}({', '.join([*passed, 'gx', 'gy', 'gz', 'x', 'y', 'z'])});",
            "      }",
            "}",
            "",
        ]
    )
