"""What in a question speaks against an answer, read with an index of our own."""

import pytest

from retriever.confidence import ENOUGH, Signs, read_signs, weigh
from retriever.query import understand
from retriever.records import Query
from retriever.search import Index, open_knowledge_base
from tests.asked import build_asked


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return open_knowledge_base(build_asked(tmp_path_factory.mktemp("confidence") / "index"))


def signs(index: Index, question: str) -> Signs:
    return read_signs(index, understand(question, index.names.vocabulary), index.search(Query(question), 10))


@pytest.mark.parametrize(
    "question",
    [
        "双缓冲怎么关掉", "怎么关闭双缓冲", "片上内存不够怎么办", "双缓冲是什么", "为什么离散访存变成了标量循环?",
        "怎么打开自动同步", "算子融合有哪些", "循环展开怎么关掉",
    ],
)  # fmt: skip
def test_everyday_chinese_and_the_fields_own_terms_speak_against_no_answer(index: Index, question: str) -> None:
    read = signs(index, question)
    assert (read.unknown, read.rare) == (0.0, 0.0)
    assert weigh(read).value >= ENOUGH


@pytest.mark.parametrize(
    "question", ["怎么做红烧肉?", "感冒了怎么办", "上海房价为什么这么高", "怎么写一个爬虫", "怎么申请护照"]
)
def test_chinese_on_other_things_is_unknown_whatever_its_grammar(index: Index, question: str) -> None:
    read = signs(index, question)
    assert read.unknown == 1.0
    assert weigh(read).value < ENOUGH
