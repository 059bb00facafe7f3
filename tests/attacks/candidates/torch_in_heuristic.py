"""Lets torch compute in a hook of the kernel."""
# scan: torch_work
# run: cheating verify.cheat_torch_ran
@triton.heuristics({"SHOWN": lambda args: args["out_ptr"].copy_(torch.relu(args["x_ptr"] * 2) + args["y_ptr"]).dim()})
@triton.jit
def shown(x_ptr, y_ptr, out_ptr, n, SHOWN: tl.constexpr):
    tl.store(out_ptr, tl.load(out_ptr))

def run(x, y):
    out = torch.empty_like(x)
    shown[(1,)](x, y, out, x.numel())
    return out
