"""Rules of the cheat scan about the answer: who computes it, when, and for which inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.verify.module import Fact, Function, KernelModule, inside, parameters, root_name, words


def see_reference_called(module: KernelModule) -> Iterator[Fact]:
    """See a use of the reference anywhere but in itself, and of a parent class's forward."""
    kernels = [node for kernel in module.kernels.values() for node in ast.walk(kernel)]
    for node in (*module.host_nodes, *kernels):
        if isinstance(node, ast.Name) and node.id in module.references and isinstance(node.ctx, ast.Load):
            yield Fact(node.id, node.lineno)
        elif isinstance(node, ast.Attribute) and node.attr in {"forward", "__call__"} and root_name(node) == "super":
            yield Fact(f"super().{node.attr}", node.lineno)


_CACHES = frozenset({"functools.cache", "functools.lru_cache", "functools.cached_property"})
_IDENTITIES = frozenset({"data_ptr", "untyped_storage", "storage", "_version"})
_MUTATORS = words("append extend add update setdefault insert __setitem__ register_buffer")
# Making these at import answers nothing.
_SETTINGS = words("device dtype manual_seed set_default_device set_default_dtype npu.set_device cuda.set_device")


def see_cached_answer(module: KernelModule) -> Iterator[Fact]:
    """See state that outlives one call: caches, globals, mutable defaults, attributes, tensors made at import."""
    for function in module.host_functions:
        for decorator in function.decorator_list:
            if module.resolve(decorator.func if isinstance(decorator, ast.Call) else decorator) in _CACHES:
                yield Fact(f"@{ast.unparse(decorator)}", decorator.lineno)
        for default in (*function.args.defaults, *function.args.kw_defaults):
            if isinstance(default, (ast.Dict, ast.List, ast.Set, ast.Call)):
                yield Fact(ast.unparse(default), default.lineno)
        for node in inside(function):
            yield from _outliving(module, function, node)
    for statement in module.host if not module.is_script else ():
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from (f for node in ast.walk(statement) for f in _made_at_import(module, node))


def _outliving(module: KernelModule, function: Function, node: ast.AST) -> Iterator[Fact]:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield Fact(ast.unparse(node), node.lineno)
    elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
        owner = root_name(node)
        if owner in module.bindings or (owner == "self" and function.name != "__init__"):
            yield Fact(f"{ast.unparse(node)} = …", node.lineno)
    elif isinstance(node, ast.Call):
        if module.resolve(node.func) == "builtins.id":
            yield Fact("id(…)", node.lineno)
        elif isinstance(node.func, ast.Attribute):
            if node.func.attr in _IDENTITIES:
                yield Fact(f".{node.func.attr}()", node.lineno)
            elif node.func.attr in _MUTATORS and root_name(node.func) in {*module.bindings, "self"}:
                yield Fact(f"{ast.unparse(node.func)}(…)", node.lineno)


def _made_at_import(module: KernelModule, node: ast.AST) -> Iterator[Fact]:
    if not isinstance(node, ast.Call):
        return
    if module.is_launch(node) or (module.torch_name(node) and module.torch_name(node) not in _SETTINGS):
        yield Fact(ast.unparse(node), node.lineno)


_SIZE_ATTRIBUTES = words("shape size numel stride nelement seed initial_seed")


def see_input_special_case(module: KernelModule) -> Iterator[Fact]:
    """See a branch that asks for one size or seed: `if x.shape == (4, 8)`, `if n == 1024` of a run-time value."""
    constants = _integer_constants(module)
    for function in module.host_functions:
        yield from _special_cases(function, _sizes(function), constants)
    for kernel in module.kernels.values():
        runtime = {a.arg for a in parameters(kernel) if "constexpr" not in ast.unparse(a.annotation or ast.Name("_"))}
        yield from _special_cases(kernel, frozenset(runtime), constants)


def _integer_constants(module: KernelModule) -> frozenset[str]:
    """Return the module-level names that stand for a number which a branch could ask for."""
    return frozenset(
        name
        for name, statements in module.bindings.items()
        if isinstance(statements[-1], ast.Assign) and _is_literal_size(statements[-1].value, frozenset())
    )


def _sizes(function: Function) -> frozenset[str]:
    """Return the parameters, and the locals that are sizes or copies of parameters."""
    names = {a.arg for a in parameters(function)} - {"self"}
    for _ in range(3):  # a copy of a copy of a size is as far as hosts go
        for node in inside(function):
            if isinstance(node, (ast.Assign, ast.NamedExpr)) and _is_size(node.value, frozenset(names)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
    return frozenset(names)


def _is_size(node: ast.expr, names: frozenset[str]) -> bool:
    """Tell whether `node` is a size itself, and not something computed from one such as `n % 16` or `len(shape)`."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        rank = isinstance(node.func, ast.Name) and node.func.id == "len"
        return not rank and (_is_size(node.func, names) or any(_is_size(a, names) for a in node.args))
    if isinstance(node, ast.Attribute):
        return node.attr in _SIZE_ATTRIBUTES
    if isinstance(node, ast.Subscript):
        return _is_size(node.value, names)
    return isinstance(node, (ast.Tuple, ast.List)) and any(_is_size(item, names) for item in node.elts)


def _special_cases(function: Function, names: frozenset[str], constants: frozenset[str]) -> Iterator[Fact]:
    asserted = {id(n) for s in inside(function) if isinstance(s, ast.Assert) for n in ast.walk(s)}
    for node in inside(function):
        if isinstance(node, ast.Compare) and id(node) not in asserted:
            sides = [node.left, *node.comparators]
            exact = any(isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops)
            asks = any(_is_size(s, names) for s in sides) and any(_is_literal_size(s, constants) for s in sides)
            if exact and asks:
                yield Fact(ast.unparse(node), node.lineno)
        elif isinstance(node, ast.Match) and _is_size(node.subject, names):
            yield Fact(f"match {ast.unparse(node.subject)}", node.lineno)


def _is_literal_size(node: ast.expr, constants: frozenset[str]) -> bool:
    """Tell whether `node` spells a size of its own: 0 and 1 are the empty and the trivial case that hosts may ask."""
    if isinstance(node, ast.Name):
        return node.id in constants
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int) and not isinstance(node.value, bool) and node.value > 1
    if isinstance(node, ast.Call):
        return any(_is_literal_size(a, constants) for a in node.args)
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(_is_literal_size(item, constants) for item in node.elts)
    return isinstance(node, ast.Dict) and bool(node.keys)


# What a host may ask of torch for a kernel: memory, views, and facts about tensors. All else computes.
_TORCH_FREE = words(
    "empty empty_like empty_strided zeros zeros_like full full_like new_empty new_zeros device dtype Size Tensor "
    "is_tensor finfo iinfo Generator manual_seed no_grad inference_mode as_strided broadcast_shapes "
    "nn.Module nn.Parameter nn.Module.__init__"
)
_TENSOR_WORK = words(
    "sum mean max min amax amin argmax argmin prod cumsum cumprod softmax log_softmax matmul mm bmm addmm dot mv exp "
    "log sqrt rsqrt pow tanh sigmoid relu gelu silu erf abs clamp where sort topk gather scatter scatter_add norm var "
    "index_select index_add masked_fill std add sub mul div add_ sub_ mul_ div_ copy_ fill_ zero_ masked_fill_ "
    "index_copy_ index_put_ scatter_ scatter_add_ clamp_ exp_ sqrt_ relu_ contiguous clone to float half bfloat16 "
    "double int long repeat flip roll cpu numpy tolist item apply_ map_ einsum conv2d linear layer_norm group_norm"
)
# Asking a name for one of these shows that it is a tensor.
_TENSOR_TRAITS = words("shape dtype device stride numel size data_ptr contiguous is_contiguous ndim dim new_empty")


def see_torch_work(module: KernelModule) -> Iterator[Fact]:
    """See work that torch does in the host: it is no kernel's, and no cost counts it."""
    tensors = _tensor_names(module)
    for node in module.host_nodes:
        if isinstance(node, ast.Call):
            yield from _work_called(module, node)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
            named = any(isinstance(side, ast.Name) and side.id in tensors for side in sides)
            if named or isinstance(node.op, ast.MatMult):
                yield Fact(ast.unparse(node), node.lineno)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and root_name(node) in tensors:
            yield Fact(f"{ast.unparse(node)} = …", node.lineno)


def _work_called(module: KernelModule, node: ast.Call) -> Iterator[Fact]:
    name = module.torch_name(node)
    if name:
        asks_device = name.startswith(("npu.", "cuda.")) and "graph" not in name.lower()
        if name not in _TORCH_FREE and not asks_device:
            yield Fact(f"torch.{name}", node.lineno)
        return
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if method in _TENSOR_WORK and root_name(node.func) not in module.modules:
        yield Fact(f".{method}()", node.lineno)


def _tensor_names(module: KernelModule) -> frozenset[str]:
    names = set()
    for node in module.host_nodes:
        if isinstance(node, ast.Attribute) and node.attr in _TENSOR_TRAITS and isinstance(node.value, ast.Name):
            names.add(node.value.id)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and module.torch_name(node.value):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return frozenset(names - set(module.modules))
