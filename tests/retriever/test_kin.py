"""A document and its translation, and a file for A2/A3 and the one for the 950, stand side by side."""

import pytest

from indexer.build import Job, build_index
from indexer.corpus import Manifest, TextTree
from indexer.embed import HashEmbedder
from retriever.kin import preference
from retriever.records import Query
from retriever.search import Index, open_knowledge_base

FILES = {
    "docs/en/features/RowPlan.md": "# Row plan\n\nRows are planned before columns, widest rows first.\n",
    "docs/zh_cn/features/row_plan.md": "# 行规划\n\n先规划行，再规划列，最宽的行优先。\n",
    "lib/RowPlan.cpp": "// Plans rows before columns, widest rows first.\nvoid planRows() {}\n",
    "lib/regbase/RowPlan.cpp": "// Plans the rows of registers.\nvoid planRows() {}\n",
    "lib/Other.cpp": "// Prints the colours of a picture.\nvoid paint() {}\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    store = tmp_path_factory.mktemp("kin") / "index"
    manifest = Manifest("ascendnpu-ir", "a3", "Apache-2.0")
    job = Job(TextTree(manifest.name, manifest.target, "here", FILES), manifest, manifest.name)
    build_index(store, [job], HashEmbedder(), lambda *_: None)
    return open_knowledge_base(store)


def paths(index: Index, text: str, target: str = "") -> list[str]:
    return [hit.passage.path for hit in index.search(Query(text, target=target))]


def test_the_document_in_the_questions_language_comes_first_and_its_translation_next(index: Index) -> None:
    english = [p for p in paths(index, "widest rows are planned first before columns") if p.startswith("docs/")]
    assert english == ["docs/en/features/RowPlan.md", "docs/zh_cn/features/row_plan.md"]
    chinese = [p for p in paths(index, "最宽的行怎样规划") if p.startswith("docs/")]
    assert chinese == ["docs/zh_cn/features/row_plan.md", "docs/en/features/RowPlan.md"]


@pytest.mark.parametrize(
    ("text", "target", "first"),
    [
        ("plans rows before columns widest first", "", "lib/RowPlan.cpp"),
        ("plans rows before columns widest first", "a5", "lib/regbase/RowPlan.cpp"),
        ("plans rows before columns widest first on the 950", "", "lib/regbase/RowPlan.cpp"),
        ("plans the rows of registers", "a3", "lib/RowPlan.cpp"),
        ("在950上plans rows before columns widest first", "", "lib/regbase/RowPlan.cpp"),
        ("在A5上plans rows before columns widest first", "", "lib/regbase/RowPlan.cpp"),
    ],
)
def test_of_two_variants_the_one_for_the_asked_target_is_first(
    index: Index, text: str, target: str, first: str
) -> None:  # fmt: skip
    code = [p for p in paths(index, text, target) if p.endswith("RowPlan.cpp")]
    assert code[0] == first
    assert len(code) == 2


def test_a_relative_says_whose_it_is(index: Index) -> None:
    hits = index.search(Query("widest rows are planned first before columns"))
    beside = next(hit for hit in hits if hit.passage.path.startswith("docs/zh"))
    assert "translation of docs/en/features/RowPlan.md" in beside.why


def test_a_question_on_both_targets_prefers_neither() -> None:
    assert preference("in which order on A3 compared with A5?", "").a5 is None
    assert preference("what does the 950 do?", "").a5 is True
    assert preference("what does the 910B do?", "a5").a5 is True
