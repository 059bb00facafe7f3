import triton
import triton.language as tl


@triton.jit
def matmul_epilogue(a, b, c, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        left = tl.load(a + rows[:, None] * K + (k + ks)[None, :])
        right = tl.load(b + (k + ks)[:, None] * N + cols[None, :])
        acc += tl.dot(left, right)
    acc = tl.maximum(acc, 0.0) * 2.0
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


KERNEL = matmul_epilogue
SIG = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32", "N": "i32"}
CONSTS = {"BM": 64, "BN": 64, "BK": 64}
