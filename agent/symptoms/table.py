"""The one visible table of symptoms; a new one is a file of its own and a line here."""

from __future__ import annotations

from agent.symptoms.atomic_in_loop import ATOMIC_IN_LOOP
from agent.symptoms.atomic_lock import ATOMIC_LOCK
from agent.symptoms.base import Symptom
from agent.symptoms.blockptr_order import BLOCKPTR_ORDER
from agent.symptoms.bool_count import BOOL_COUNT
from agent.symptoms.carried_copy import CARRIED_COPY
from agent.symptoms.cast_pingpong import CAST_PINGPONG
from agent.symptoms.cumsum_last import CUMSUM_LAST
from agent.symptoms.discrete_mask import DISCRETE_MASK
from agent.symptoms.divmod_index import DIVMOD_INDEX
from agent.symptoms.dot_acc_init import DOT_ACC_INIT
from agent.symptoms.dot_mask_k import DOT_MASK_K
from agent.symptoms.dot_operand_cast import DOT_OPERAND_CAST
from agent.symptoms.dot_scale_in_loop import DOT_SCALE_IN_LOOP
from agent.symptoms.dot_swapped_ptr import DOT_SWAPPED_PTR
from agent.symptoms.dot_tiny_tile import DOT_TINY_TILE
from agent.symptoms.dyn_stride_col import DYN_STRIDE_COL
from agent.symptoms.erf_poly import ERF_POLY
from agent.symptoms.exp2_trick import EXP2_TRICK
from agent.symptoms.gather_scalar import GATHER_SCALAR
from agent.symptoms.histogram import HISTOGRAM
from agent.symptoms.i64_add import I64_ADD
from agent.symptoms.i64_cmp import I64_CMP
from agent.symptoms.i64_reduce import I64_REDUCE
from agent.symptoms.implicit_transpose import IMPLICIT_TRANSPOSE
from agent.symptoms.int8_math import INT8_MATH
from agent.symptoms.int_argmax import INT_ARGMAX
from agent.symptoms.int_mod import INT_MOD
from agent.symptoms.invariant_load import INVARIANT_LOAD
from agent.symptoms.many_programs import MANY_PROGRAMS
from agent.symptoms.mask_fill import MASK_FILL
from agent.symptoms.mulhi import MULHI
from agent.symptoms.nan_max import NAN_MAX
from agent.symptoms.permute3d import PERMUTE3D
from agent.symptoms.relu_epilogue import RELU_EPILOGUE
from agent.symptoms.reverse_stride import REVERSE_STRIDE
from agent.symptoms.row_gather_align import ROW_GATHER_ALIGN
from agent.symptoms.scalar_gm_loop import SCALAR_GM_LOOP
from agent.symptoms.scatter_scalar import SCATTER_SCALAR
from agent.symptoms.single_shot import SINGLE_SHOT
from agent.symptoms.static_stride import STATIC_STRIDE
from agent.symptoms.tail_dim_pad import TAIL_DIM_PAD
from agent.symptoms.tensor_shift import TENSOR_SHIFT
from agent.symptoms.ub_overflow import UB_OVERFLOW
from agent.symptoms.while_loop import WHILE_LOOP
from agent.symptoms.xor_expand import XOR_EXPAND

# Where two are equally severe the earlier one is told first: causes before what they bring with them.
SYMPTOMS: tuple[Symptom, ...] = (
    UB_OVERFLOW,
    # Computation that became scalar.
    I64_CMP, I64_ADD, I64_REDUCE, INT_MOD, TENSOR_SHIFT, MULHI, CUMSUM_LAST, INT_ARGMAX, HISTOGRAM,
    # Memory access that became scalar, a read-modify-write, or serialised between the cores.
    GATHER_SCALAR, SCATTER_SCALAR, DIVMOD_INDEX, REVERSE_STRIDE, ROW_GATHER_ALIGN, DISCRETE_MASK, SCALAR_GM_LOOP,
    ATOMIC_LOCK, ATOMIC_IN_LOOP,
    # Buffers blown up by stride or padding.
    STATIC_STRIDE, DYN_STRIDE_COL, IMPLICIT_TRANSPOSE, BLOCKPTR_ORDER, TAIL_DIM_PAD,
    # Traffic between cube and vector core, and work that the cube does for nothing.
    DOT_SWAPPED_PTR, DOT_OPERAND_CAST, DOT_ACC_INIT, DOT_SCALE_IN_LOOP, DOT_MASK_K, RELU_EPILOGUE, DOT_TINY_TILE,
    # One operation that became many.
    NAN_MAX, ERF_POLY, XOR_EXPAND, INT8_MATH, PERMUTE3D, BOOL_COUNT, EXP2_TRICK, CAST_PINGPONG,
    # Nothing overlaps, something is done again, or too little is done at a time.
    WHILE_LOOP, INVARIANT_LOAD, CARRIED_COPY, MASK_FILL, SINGLE_SHOT, MANY_PROGRAMS,
)  # fmt: skip
