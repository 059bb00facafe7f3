"""Reading PTX and the assembler's log."""

from agent.toolchain.cuda_ptx import read_ptx, read_usage

PTX = """
.visible .entry kernel(
\t.param .u64 .ptr .global .align 1 kernel_param_0
)
{
\t.loc\t1 12 17
\t@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];
\t.loc\t2 293 36, function_name $L__info_string0, inlined_at 1 14 9
\t@%p1 ld.global.b16 { %rs1 }, [ %rd2 + 0 ];
\tld.global.b16 { %rs2 }, [ %rd2 + 2 ];
\t.loc\t2 40 1
\tcp.async.cg.shared.global [ %r5 + 0 ], [ %rd3 + 0 ], 0x10, %r6;
\tst.shared.v2.b32 [%r7], {%r1, %r2};
$L__tmp1:
}
\t.file\t1 "/scratch/job/mine.py"
\t.file\t2 "/site/triton/language/standard.py"
"""
LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'kernel' for 'sm_90a'
ptxas info    : Function properties for kernel
    3848 bytes stack frame, 8356 bytes spill stores, 11540 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers
"""


def test_an_access_has_the_width_of_all_its_elements_and_the_users_line() -> None:
    found = {(op.opcode, op.line): (op.width, op.count) for op in read_ptx(PTX, "/scratch/job/mine.py")}
    assert found["ld.global.v4.b32", 12] == (16, 1)
    assert found["ld.global.b16", 14] == (2, 2), "inlined code belongs to the line that calls it"
    assert found["cp.async.cg.shared.global", None] == (16, 1)


def test_labels_and_directives_are_no_instructions() -> None:
    assert {op.opcode.split(".")[0] for op in read_ptx(PTX, "mine.py")} == {"ld", "cp", "st"}


def test_the_assembler_tells_registers_stack_and_spills() -> None:
    usage = read_usage(LOG)
    assert usage is not None
    assert (usage.registers, usage.stack_bytes, usage.spill_store_bytes, usage.spill_load_bytes) == (
        64,
        3848,
        8356,
        11540,
    )


def test_a_log_without_a_kernel_tells_nothing() -> None:
    assert read_usage("ptxas fatal: unsupported target") is None
