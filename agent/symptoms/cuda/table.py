"""The one visible table of CUDA symptoms; a new one is a file of its own and a line here."""

from __future__ import annotations

from agent.symptoms.base import Symptom
from agent.symptoms.cuda.async_narrow import ASYNC_NARROW
from agent.symptoms.cuda.atomic_contention import ATOMIC_CONTENTION
from agent.symptoms.cuda.div_in_loop import DIV_IN_LOOP
from agent.symptoms.cuda.divmod_index import DIVMOD_INDEX
from agent.symptoms.cuda.dot_by_reduce import DOT_BY_REDUCE
from agent.symptoms.cuda.dot_ieee import DOT_IEEE
from agent.symptoms.cuda.dot_no_wgmma import DOT_NO_WGMMA
from agent.symptoms.cuda.dot_scale_loop import DOT_SCALE_LOOP
from agent.symptoms.cuda.dot_trans_tf32 import DOT_TRANS_TF32
from agent.symptoms.cuda.fp64_promo import FP64_PROMO
from agent.symptoms.cuda.gather_elem import GATHER_ELEM
from agent.symptoms.cuda.i64_index import I64_INDEX
from agent.symptoms.cuda.idle_warps import IDLE_WARPS
from agent.symptoms.cuda.invariant_reload import INVARIANT_RELOAD
from agent.symptoms.cuda.l2_order import L2_ORDER
from agent.symptoms.cuda.layout_cvt_loop import LAYOUT_CVT_LOOP
from agent.symptoms.cuda.mask_tail_vec import MASK_TAIL_VEC
from agent.symptoms.cuda.no_pipeline import NO_PIPELINE
from agent.symptoms.cuda.reduce_in_loop import REDUCE_IN_LOOP
from agent.symptoms.cuda.reg_spill import REG_SPILL
from agent.symptoms.cuda.smem_occupancy import SMEM_OCCUPANCY
from agent.symptoms.cuda.stream_no_stages import STREAM_NO_STAGES
from agent.symptoms.cuda.strided_col import STRIDED_COL
from agent.symptoms.cuda.tiny_tile import TINY_TILE
from agent.symptoms.cuda.unknown_stride import UNKNOWN_STRIDE

# Where two are equally severe the earlier one is told first: causes before what they bring with them.
CUDA_SYMPTOMS: tuple[Symptom, ...] = (
    # What the assembler makes of it, and units that are not used.
    REG_SPILL, DOT_BY_REDUCE, DOT_IEEE, DOT_TRANS_TF32, DOT_NO_WGMMA, FP64_PROMO,
    # Access that is scattered, narrow, or contended.
    GATHER_ELEM, STRIDED_COL, ASYNC_NARROW, UNKNOWN_STRIDE, MASK_TAIL_VEC, ATOMIC_CONTENTION, I64_INDEX, DIVMOD_INDEX,
    # Nothing overlaps, something is done again, or in too small parts.
    NO_PIPELINE, STREAM_NO_STAGES, DOT_SCALE_LOOP, LAYOUT_CVT_LOOP, REDUCE_IN_LOOP, INVARIANT_RELOAD, DIV_IN_LOOP,
    IDLE_WARPS, TINY_TILE, SMEM_OCCUPANCY, L2_ORDER,
)  # fmt: skip
