"""Rules of the cheat scan about the answer: who computes it, when, and for which inputs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.verify.module import Fact, Function, KernelModule, inside, own_names, parameters, root_name, words


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
_MUTATORS = words("append extend add update setdefault insert pop popleft appendleft send register_buffer")
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
        own = own_names(function)
        for node in inside(function):
            yield from _outliving(module, function, own, node)
    for statement in module.host if not module.is_script else ():
        if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from (f for node in ast.walk(statement) for f in _made_at_import(module, node))


def _outliving(module: KernelModule, function: Function, own: frozenset[str], node: ast.AST) -> Iterator[Fact]:
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield Fact(ast.unparse(node), node.lineno)
    elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
        owner = root_name(node)
        outer = bool(owner) and owner not in own
        if outer or (owner == "self" and function.name != "__init__"):
            yield Fact(f"{ast.unparse(node)} = …", node.lineno)
    elif isinstance(node, ast.Call):
        if module.resolve(node.func) in {"builtins.id", "builtins.next"}:
            yield Fact(f"{ast.unparse(node.func)}(…)", node.lineno)
        elif isinstance(node.func, ast.Attribute):
            owner = root_name(node.func)
            if node.func.attr in _IDENTITIES:
                yield Fact(f".{node.func.attr}()", node.lineno)
            elif node.func.attr in _MUTATORS and owner and owner not in module.modules and owner not in own - {"self"}:
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
    if isinstance(node, ast.BinOp):
        return _is_shifted(node, names)
    return isinstance(node, (ast.Tuple, ast.List)) and any(_is_size(item, names) for item in node.elts)


def _is_shifted(node: ast.expr, names: frozenset[str]) -> bool:
    """Tell whether `node` is a size and a number, so that a comparison with any number asks for one size."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.BitXor))):
        return False
    left, right = node.left, node.right
    number = isinstance(left, ast.Constant) or isinstance(right, ast.Constant)
    return number and (_is_size(left, names) or _is_size(right, names))


def _asked(node: ast.AST, names: frozenset[str]) -> Iterator[ast.expr]:
    """Yield what a branch asks for without a comparison: `if n - 1000`, a window `999 < n < 1001`, a table by size."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and _is_shifted(node.test, names):
        yield node.test
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and _is_shifted(node.operand, names):
        yield node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) > 1 and _is_narrow([node], names):
        yield node
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        compares = [value for value in node.values if isinstance(value, ast.Compare)]
        yield from [node] if len(compares) > 1 and _is_narrow(compares, names) else []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        by_size = any(_is_size(key, names) for key in node.args[:1])
        yield from [node] if by_size and not _is_size(node.func.value, names) else []


def _is_narrow(compares: list[ast.Compare], names: frozenset[str]) -> bool:
    """Tell whether comparisons of a size with numbers leave room for a single size or two."""
    sides = [side for compare in compares for side in (compare.left, *compare.comparators)]
    numbers = [side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, int)]
    asks = any(_is_size(side, names) for side in sides)
    return asks and len(numbers) > 1 and max(numbers) > 1 and max(numbers) - min(numbers) <= _NARROW


# A window of sizes this wide holds one size that a check would run, and its neighbours.
_NARROW = 4


def _special_cases(function: Function, names: frozenset[str], constants: frozenset[str]) -> Iterator[Fact]:
    asserted = {id(n) for s in inside(function) if isinstance(s, ast.Assert) for n in ast.walk(s)}
    for node in inside(function):
        if isinstance(node, ast.Compare) and id(node) not in asserted:
            sides = [node.left, *node.comparators]
            exact = any(isinstance(op, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops)
            asks = any(_is_size(s, names) for s in sides) and any(_is_literal_size(s, constants) for s in sides)
            shifted = any(_is_shifted(s, names) for s in sides) and any(isinstance(s, ast.Constant) for s in sides)
            if exact and (asks or shifted or _asks_by_text(sides, names)):
                yield Fact(ast.unparse(node), node.lineno)
        if id(node) not in asserted:
            yield from (Fact(ast.unparse(asked), asked.lineno) for asked in _asked(node, names))
        if isinstance(node, ast.Match) and _is_size(node.subject, names):
            yield Fact(f"match {ast.unparse(node.subject)}", node.lineno)


def _asks_by_text(sides: list[ast.expr], names: frozenset[str]) -> bool:
    """Tell whether a size is compared as text: `str(x.shape) == "…"`."""
    texts = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)
    return texts and any(isinstance(s, (ast.Call, ast.JoinedStr)) and _mentions_size(s, names) for s in sides)


def _mentions_size(node: ast.expr, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in _SIZE_ATTRIBUTES for n in ast.walk(node)) or any(
        isinstance(n, ast.Name) and n.id in names for n in ast.walk(node)
    )


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
# Names of torch that are no functions: element types, and what is asked of a module.
_TORCH_PLAIN = words(
    "float16 float32 float64 bfloat16 half float double int8 int16 int32 int64 uint8 uint16 uint32 uint64 int long "
    "short bool complex64 complex128 float8_e4m3fn float8_e5m2 strided contiguous_format channels_last preserve_format "
    "nn cuda npu functional autograd version __version__ pi inf nan"
)
# Methods that no other object than a tensor has; `sum`, `to` or `item` may be anything's.
_METHODS = words(
    "softmax log_softmax matmul mm bmm addmm argmax argmin cumsum cumprod rsqrt tanh sigmoid relu masked_fill "
    "index_select index_add scatter_add scatter_ copy_ fill_ zero_ add_ sub_ mul_ div_ masked_fill_ index_copy_ "
    "index_put_ clamp_ exp_ sqrt_ relu_ contiguous einsum layer_norm group_norm"
)
# Asking a name for one of these shows that it is a tensor.
_TENSOR_TRAITS = words("shape dtype device stride numel size data_ptr contiguous is_contiguous ndim dim new_empty")


def see_torch_work(module: KernelModule) -> Iterator[Fact]:
    """See work that torch does in the host: it is no kernel's, and no cost counts it."""
    tensors = _tensor_names(module)
    called = {id(node.func) for node in module.host_nodes if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in module.host_nodes if isinstance(node, ast.Attribute)}
    for node in module.host_nodes:
        if isinstance(node, ast.Call):
            yield from _work_called(module, node)
        elif isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in called | inner:
            yield from _work_named(module, node)
        elif isinstance(node, ast.ClassDef):
            bases = {module.resolve(base) for base in node.bases}
            yield from (Fact(f"class {node.name}({base})", node.lineno) for base in bases & _TENSOR_CLASSES)
        elif isinstance(node, (ast.BinOp, ast.AugAssign)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
            named = any(isinstance(side, ast.Name) and side.id in tensors for side in sides)
            if named or isinstance(node.op, ast.MatMult):
                yield Fact(ast.unparse(node), node.lineno)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and root_name(node) in tensors:
            yield Fact(f"{ast.unparse(node)} = …", node.lineno)


# A tensor of its own kind can do anything when it is read; a function of autograd runs what it likes.
_TENSOR_CLASSES = words("torch.Tensor torch.nn.Parameter torch.autograd.Function torch.TensorBase")


def _work_named(module: KernelModule, node: ast.Attribute | ast.Name) -> Iterator[Fact]:
    """See a function of torch, or a method of a tensor, that is passed on under another name."""
    name = module.resolve(node)
    torchs = name.removeprefix("torch.") if name.startswith("torch.") else ""
    last = torchs.rpartition(".")[2]
    if torchs and last.islower() and torchs not in _TORCH_FREE and last not in _TORCH_PLAIN:
        yield Fact(f"torch.{torchs}", node.lineno)
    elif isinstance(node, ast.Attribute) and node.attr in _METHODS and root_name(node) not in module.modules:
        yield Fact(f".{node.attr}", node.lineno)


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
