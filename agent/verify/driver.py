"""What is around one kernel: the loop over its grid in LLVM IR, compiled with it; the rest in C, compiled once for all.

The rest is the local memory of a program, and copies between strided buffers.
"""

from __future__ import annotations

from agent.verify.cleanup import DEVICE_SYMBOL
from agent.verify.signature import LLVM_TYPES, DeviceFunction

RUNTIME = """
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Local memory of one program. On-chip memory is 192 KiB to 1 MiB; a kernel that allocates in a loop it cannot hoist
   needs a multiple of that here, where nothing is freed before the program ends. */
#define ARENA_BYTES (1ul << 30)

static const char *kernel;
static char *arena;
static size_t used;

/* Bytes 0xff are a NaN of every float type: reading local memory before writing it shows in the result. */
void *_mlir_memref_to_llvm_alloc(size_t bytes) {
  size_t rounded = (bytes + 63) & ~(size_t)63;
  if (rounded < bytes || rounded > ARENA_BYTES - used) {
    fprintf(stderr, "tritonkb: one program of %s needs more than %zu MiB of local memory\\n", kernel,
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

/* The loop over the grid calls the first once, the second before each program. */
void tritonkb_open(const char *name) {
  kernel = name;
  if (arena) return;
  arena = mmap(0, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) { fprintf(stderr, "tritonkb: no local memory for %s\\n", kernel); abort(); }
}
void tritonkb_next(void) { used = 0; }
"""
# The loops over z, y and x, innermost last; the kernel's own function is not inlined, so that it is compiled alike in
# every grid.
_LOOPS = """
@tritonkb_name = private constant [{size} x i8] c"{text}\\00"
declare void @tritonkb_open(ptr)
declare void @tritonkb_next()
define void @"{entry}"({wanted}) {{
start:
  call void @tritonkb_open(ptr @tritonkb_name)
  %some.x = icmp sgt i32 %gx, 0
  %some.y = icmp sgt i32 %gy, 0
  %some.z = icmp sgt i32 %gz, 0
  %some.xy = and i1 %some.x, %some.y
  %some = and i1 %some.xy, %some.z
  br i1 %some, label %body, label %end
body:
  %x = phi i32 [0, %start], [%x.next, %body]
  %y = phi i32 [0, %start], [%y.next, %body]
  %z = phi i32 [0, %start], [%z.next, %body]
  call void @tritonkb_next()
  call void @{device}({passed}) noinline
  %x.up = add nsw i32 %x, 1
  %x.last = icmp eq i32 %x.up, %gx
  %x.next = select i1 %x.last, i32 0, i32 %x.up
  %y.step = zext i1 %x.last to i32
  %y.up = add nsw i32 %y, %y.step
  %y.last = icmp eq i32 %y.up, %gy
  %y.next = select i1 %y.last, i32 0, i32 %y.up
  %z.step = zext i1 %y.last to i32
  %z.next = add nsw i32 %z, %z.step
  %done = icmp eq i32 %z.next, %gz
  br i1 %done, label %end, label %body
end:
  ret void
}}
"""
_MEMREF = "ptr {0}, ptr {0}, i64 0, i64 9223372036854775807, i64 1"


def entry_symbol(kernel: str) -> str:
    """Return the name of the function that runs the whole grid."""
    return f"run_{kernel}"


def write_loops(function: DeviceFunction) -> str:
    """Write the LLVM IR that runs `function` for each program of a grid: `void run_<kernel>(arguments…, gx, gy, gz)`.

    A tensor is a pointer to its first element, a scalar of its own type. Programs run one after the other.
    """
    wanted = [f"{'ptr' if a.pointer else LLVM_TYPES[a.type]} %a{i}" for i, a in enumerate(function.arguments)]
    passed = ["ptr null, ptr null, i64 0, i64 0, i64 0"] * function.hidden
    for argument, value in zip(function.arguments, wanted, strict=True):
        # A rank-one memref is five words: allocated, aligned, offset, size, stride; the kernel never asks the size.
        passed.append(_MEMREF.format(value.removeprefix("ptr ")) if argument.pointer else value)
    indices = [f"i32 %{name}" for name in ("gx", "gy", "gz", "x", "y", "z")]
    return _LOOPS.format(
        size=len(function.name.encode()) + 1,
        text=_escaped(function.name),
        entry=_escaped(entry_symbol(function.name)),
        wanted=", ".join([*wanted, *indices[:3]]),
        device=DEVICE_SYMBOL,
        passed=", ".join([*passed, *indices]),
    )


def _escaped(name: str) -> str:
    """Spell a name as LLVM IR does between quotes; a kernel's may have any letter that Python allows."""
    return "".join(chr(byte) if byte < 128 else f"\\{byte:02X}" for byte in name.encode())
