"""The one table of rewrites: symptom id -> the rules that may remove it, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.records import Structure
from agent.rewrite.block_loop import block_loop
from agent.rewrite.compared_bins import compared_bins
from agent.rewrite.counted_in_float import counted_in_float
from agent.rewrite.counted_loop import counted_loop
from agent.rewrite.direct_exp import direct_exp
from agent.rewrite.fewer_bit_ops import fewer_bit_ops
from agent.rewrite.fixed_stride import fixed_stride
from agent.rewrite.flat_tile import flat_tile
from agent.rewrite.flipped_load import flipped_load
from agent.rewrite.fused_relu import fused_relu
from agent.rewrite.hoisted_load import hoisted_load
from agent.rewrite.index_by_value import index_by_value
from agent.rewrite.late_atomic import late_atomic
from agent.rewrite.limb_product import limb_product
from agent.rewrite.masked_remainder import masked_remainder
from agent.rewrite.merged_bound import merged_bound
from agent.rewrite.narrow_compare import narrow_compare
from agent.rewrite.narrow_sum import narrow_sum
from agent.rewrite.number_max import number_max
from agent.rewrite.pad_only_k import pad_only_k
from agent.rewrite.pick_stride import pick_stride
from agent.rewrite.plain_accumulation import plain_accumulation
from agent.rewrite.plain_casts import plain_casts
from agent.rewrite.scan_rows import scan_rows
from agent.rewrite.selected_max import selected_max
from agent.rewrite.share_cores import share_cores
from agent.rewrite.sixteen_bits import sixteen_bits
from agent.rewrite.skip_padding import skip_padding
from agent.rewrite.split_block import split_block
from agent.rewrite.staged_shift import staged_shift
from agent.rewrite.table_gather import table_gather
from agent.rewrite.tile_index import tile_index
from agent.rewrite.transposed_load import transposed_load
from agent.rewrite.unit_stride_first import unit_stride_first
from agent.symptoms.base import Rewrite, Subject

Rule = Callable[[Subject, Structure], Rewrite | None]

REWRITES: Mapping[str, tuple[Rule, ...]] = {
    "atomic_in_loop": (late_atomic,),
    "blockptr_order": (unit_stride_first,),
    "bool_count": (counted_in_float,),
    "cast_pingpong": (plain_casts,),
    "cumsum_last": (scan_rows,),
    "discrete_mask": (merged_bound,),
    "divmod_index": (tile_index,),
    "dot_acc_init": (plain_accumulation,),
    "dot_mask_k": (pad_only_k,),
    "dot_scale_in_loop": (plain_accumulation,),
    "dot_swapped_ptr": (transposed_load,),
    "dyn_stride_col": (transposed_load, fixed_stride),
    "exp2_trick": (direct_exp,),
    "gather_scalar": (table_gather,),
    "histogram": (compared_bins,),
    "i64_add": (narrow_compare,),
    "i64_cmp": (narrow_compare,),
    "i64_reduce": (counted_in_float, narrow_sum),
    "implicit_transpose": (transposed_load,),
    "int8_math": (sixteen_bits,),
    "int_argmax": (index_by_value,),
    "int_mod": (masked_remainder,),
    "invariant_load": (hoisted_load,),
    "many_programs": (share_cores,),
    "mask_fill": (skip_padding,),
    "mulhi": (limb_product,),
    "nan_max": (number_max, selected_max),
    "relu_epilogue": (fused_relu,),
    "reverse_stride": (flipped_load,),
    "scalar_gm_loop": (block_loop,),
    "single_shot": (split_block(4), split_block(2), split_block(8)),
    "static_stride": (transposed_load, pick_stride),
    "tail_dim_pad": (flat_tile,),
    "tensor_shift": (staged_shift,),
    "ub_overflow": (split_block(4), split_block(8), split_block(16), split_block(32)),
    "while_loop": (counted_loop,),
    "xor_expand": (fewer_bit_ops,),
}


def rules_for(symptom: str) -> tuple[Rule, ...]:
    """Return the rules for a symptom, best first; none where there are none yet."""
    return REWRITES.get(symptom, ())
