"""Make a folder of kernel files from a checkout of mindspore-ai/akg, whose timings of these kernels are published.

    python bench/akg_kernels.py GIT_DIR OUT_DIR [--commit 6ec75bd]

Each file is the project's kernel with `get_inputs` of its benchmark task put at the end, in torch and in float32: the
published report does not say the type, and float32 fits its throughput. Nothing of it is kept in this repository.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
from pathlib import Path

KERNELS = "akg_agents/database/local/ascend910b4/triton_ascend"
TASKS = "akg_agents/benchmark/kernelbench/numpy"


def main() -> None:
    """Write one file for each kernel that has a benchmark task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("git_dir", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--commit", default="6ec75bd")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    listed = _git(given.git_dir, "ls-tree", "--name-only", given.commit, f"{KERNELS}/").split()
    tasks = set(_git(given.git_dir, "ls-tree", "--name-only", given.commit, f"{TASKS}/").split())
    written = 0
    for path in listed:
        name = Path(path).stem
        task = f"{TASKS}/{name.lower()}"
        if task not in tasks:
            continue
        kernel = _git(given.git_dir, "show", f"{given.commit}:{path}")
        inputs = _git(given.git_dir, "show", f"{given.commit}:{task}/{name.lower()}_numpy.py")
        (given.out / f"{name}.py").write_text(f"{kernel}\n\n\n{to_torch(inputs)}\n", encoding="utf-8")
        written += 1
    print(f"{written} kernel files in {given.out}")


def to_torch(task: str) -> str:
    """Keep a task's sizes and `get_inputs`, with torch's tensors in the place of numpy's."""
    kept = [
        _ToTorch().visit(node)
        for node in ast.parse(task).body
        if isinstance(node, ast.Assign) or (isinstance(node, ast.FunctionDef) and node.name == "get_inputs")
    ]
    return "\n\n".join(ast.unparse(node) for node in kept)


class _ToTorch(ast.NodeTransformer):
    """Says in torch what the tasks say in numpy; a type of 16 bits is dropped, float32 is what torch makes."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Translate a call with its arguments."""
        self.generic_visit(node)
        for keyword in node.keywords:
            keyword.arg = _KEYWORDS.get(keyword.arg or "", keyword.arg)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            kind = ast.unparse(node.args[0]).rpartition(".")[2]
            if kind == "float16":
                return node.func.value
            node.func.attr, node.args = "to", [ast.parse(f"torch.{_TYPES.get(kind, kind)}", mode="eval").body]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Translate a name of numpy."""
        name = ast.unparse(node)
        if re.fullmatch(r"np(\.\w+)+", name):
            return ast.parse(f"torch.{_NAMES.get(name[3:], name[3:])}", mode="eval").body
        self.generic_visit(node)
        return node


_NAMES = {"random.rand": "rand", "random.randn": "randn", "random.randint": "randint", "max": "amax", "min": "amin"}
_KEYWORDS = {"axis": "dim", "keepdims": "keepdim"}
_TYPES = {"float": "float32", "bool_": "bool", "int": "int64"}


def _git(git_dir: Path, *arguments: str) -> str:
    command = ["git", "-C", str(git_dir), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


if __name__ == "__main__":
    main()
