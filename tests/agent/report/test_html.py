"""The HTML report: what is in it, and that nothing in it can do anything."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent.cli.main import run
from agent.journal import JOURNAL, RESULT
from agent.report.html import page
from agent.report.html.excerpts import beside, diff_excerpt, excerpt
from agent.report.html.reading import read_runs
from agent.report.html.write import write_report
from indexer.errors import BadInput, StoreError
from indexer.messages import Lang, catalogue
from tests.agent.report.runs_on_disk import TEXT, a_cost, a_result, a_round, a_run, begin

PACKAGE = Path(page.__file__).parent
HOSTILE = (
    "<script>alert(1)</script>",
    "</script></style></title></textarea></pre><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    '<svg onload=alert(1)><a href="javascript:alert(1)">x</a>',
    "javascript:alert(1)",
    "<!--<meta http-equiv=refresh content='0;url=data:text/html,x'>",
    "&lt;script&gt;{{ 7 * 7 }}{% raw %}{0}%s",
    "a\x00b\x1b[31mred\x1b[0m\x07\x9b",
    "\u202eevil\u202c \u2066x\u2069 \u200bhidden\ufeff",
    "\u2028\x0b\x0c\x1c\x85",
)  # fmt: skip
# Signs that are no text: what a browser hides, or lets act on the text around it.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3", "h4"),
    *("h6", "p", "a", "span", "strong", "br", "code", "pre", "blockquote", "div", "ul", "ol", "li", "dl", "dt", "dd"),
    *("details", "summary", "table", "caption", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("svg", "g", "path", "line", "circle", "text"),
}


class Seen(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.comments: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] and self.tags[-1][0] != "style":
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def skeleton(self) -> list[tuple[str, tuple[tuple[str, str | None], ...]]]:
        """The tags with all attributes whose value is not a sentence."""
        kept = [(tag, {k: v for k, v in attrs.items() if k != "aria-label"}) for tag, attrs in self.tags]
        return [(tag, tuple(sorted(attrs.items()))) for tag, attrs in kept]


def rendered(folder: Path, lang: Lang = "en") -> str:
    return write_report(folder, None, lang).path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(rendered(a_run(tmp_path_factory.mktemp("plain") / "run")))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_every_field_changes_no_tag_and_no_attribute(tmp_path: Path, plain: Seen, text: str) -> None:
    seen = Seen(rendered(a_run(tmp_path / "run", text)))
    assert seen.skeleton == plain.skeleton
    assert seen.text.count(page.visible(text)) >= plain.text.count(TEXT) > 60


def test_a_hostile_folder_name_is_text_too(tmp_path: Path, plain: Seen) -> None:
    seen = Seen(rendered(a_run(tmp_path / "<img src=x onerror=alert(1)>")))
    assert seen.skeleton == plain.skeleton
    assert "<img src=x onerror=alert(1)>" in seen.text


def test_signs_that_hide_or_steer_are_shown_as_signs(tmp_path: Path) -> None:
    seen = Seen(rendered(a_run(tmp_path / "run", "".join(HOSTILE[-3:]))))
    assert not HIDDEN.search(seen.text)
    for shown in ("⟦U+0000⟧", "⟦U+001B⟧[31mred", "⟦U+202E⟧evil", "⟦U+200B⟧hidden", "⟦U+2028⟧"):
        assert shown in seen.text


def test_a_page_has_no_tag_and_no_attribute_that_could_load_or_run(plain: Seen) -> None:
    assert {tag for tag, _ in plain.tags} <= TAGS
    names = {name for _, attrs in plain.tags for name in attrs}
    assert not {name for name in names if name.startswith("on")} | names & {
        "src",
        "style",
        "srcset",
        "action",
        "xlink:href",
    }
    links = [attrs["href"] or "" for _, attrs in plain.tags if "href" in attrs]
    anchors = {f"#{attrs['id']}" for _, attrs in plain.tags if "id" in attrs}
    assert set(links) <= anchors


def test_the_policy_allows_the_pages_own_style_and_nothing_else(tmp_path: Path) -> None:
    text = rendered(a_run(tmp_path / "run", HOSTILE[1]))
    style = text[text.index("<style>") + 7 : text.index("</style>")]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(a["content"] for t, a in Seen(text).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"url\(|@import|https?:", style)
    assert "http" not in text.replace("http-equiv", "")


def test_a_report_shows_every_part_of_a_run(plain: Seen) -> None:
    for part in (
        "2.50×", "100 µs", "40 µs", "predicted", "32 to 52", "notes@0123456789ab", "made by pass", "IR before and",
        "entry", "realised", "seeds 0, 1", "layers of the sandbox", "5 read, 2 written, 1 requests", "0.2500",
        "Left to do by hand", "The whole change", "No passage supports this claim.", "not tried: a cheaper one",
    ):  # fmt: skip
        assert part in plain.text, part


def test_a_chinese_report_has_chinese_words_and_says_so(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", "i64_cmp")
    text = rendered(folder, "zh")
    assert Seen(text).tags[0] == ("html", {"lang": "zh-CN"})
    own = Seen(text).text
    # A symptom that is known here is told in the report's language, whatever the run's was.
    assert catalogue()["symptoms.i64_cmp_title"]["zh"] in own
    assert not re.search(r"\b(kept|predicted|rounds|before)\b", own[own.index("@") :])


def test_predicted_and_measured_are_never_in_one_ratio_nor_on_one_axis(tmp_path: Path) -> None:
    rounds = [a_round(1, "kept", a_cost(40.0, "measured")), a_round(2, "kept", a_cost(20.0, "measured"))]
    result = a_result(tmp_path / "run", rounds, a_cost(100.0), a_cost(20.0, "measured"))
    begin(tmp_path / "run", rounds).finish(result)
    seen = Seen(rendered(tmp_path / "run"))
    assert "no speedup is stated" in seen.text
    assert "5.00×" not in seen.text
    assert "2.50×" not in seen.text  # round 1 against the baseline
    assert seen.text.count("2.00×") == 2  # round 2 against round 1: in the table and in its own section
    plots = [attrs for tag, attrs in seen.tags if tag == "path" and (attrs["class"] or "").startswith("best")]
    assert {a["class"] for a in plots} == {"best predicted", "best measured"}


def test_several_runs_have_one_table_with_links_and_each_basis_its_own_mean(tmp_path: Path) -> None:
    for name, costs in {"a": (100.0, 10.0), "b": (100.0, 40.0)}.items():
        a_run(tmp_path / name, costs=costs)
    measured = [a_round(1, "kept", a_cost(50.0, "measured"))]
    result = a_result(tmp_path / "c", measured, a_cost(100.0, "measured"), a_cost(50.0, "measured"))
    begin(tmp_path / "c", measured).finish(result)
    begin(tmp_path / "d", [a_round(1, "kept", a_cost(1.0))])
    a_run(tmp_path / "e")
    (tmp_path / "e" / RESULT).write_text("{")
    seen = Seen(rendered(tmp_path))
    links = [attrs["href"] for tag, attrs in seen.tags if tag == "a" and re.fullmatch(r"#run-\d", attrs["href"] or "")]
    assert links == ["#run-1", "#run-2", "#run-3", "#run-4"]
    assert seen.text.count("runs that kept a rewrite") == 2  # a summary each
    assert "4.35×" in seen.text  # the published result, beside them
    assert {"5.00×", "6.25×", "2.00×"} <= set(
        re.findall(r"[\d.]+×", seen.text)
    )  # sqrt(10 * 2.5), (10 + 2.5) / 2, 100 / 50
    assert "of 5" in seen.text
    assert "unfinished" in seen.text
    assert "is damaged or of another version" in seen.text


def test_an_unfinished_run_is_shown_as_far_as_it_is_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "my run"
    begin(folder, [a_round(1, "kept", a_cost(40.0)), a_round(2, "slower", a_cost(50.0))])
    with (folder / JOURNAL).open("a") as file:
        file.write('{"n": 3, "entry_rung"')  # being written
    seen = Seen(rendered(folder))
    assert "rounds recorded: 2 of at most 12" in seen.text
    assert f"tritonkb optimize '{TEXT}' --target '{TEXT}' --resume '{folder}'" in seen.text
    assert "40 µs" in seen.text


def test_a_round_without_a_proposal_says_so_and_has_no_checks(tmp_path: Path) -> None:
    entry = a_round(1, "rejected", None).model_copy(update={"rewrite": None, "candidates": [], "findings": []})
    result = a_result(tmp_path / "run", [entry], a_cost(100.0), a_cost(100.0))
    begin(tmp_path / "run", [entry]).finish(result)
    text = Seen(rendered(tmp_path / "run")).text
    assert "nothing proposed" in text
    assert "verdict of the checks" not in text
    assert "rejected\n" not in text
    assert "Nothing was kept" in text


def test_a_run_that_went_on_after_its_result_is_unfinished(tmp_path: Path) -> None:
    first = a_round(1, "kept", a_cost(40.0))
    journal = begin(tmp_path / "run", [first])
    journal.finish(a_result(tmp_path / "run", [first], a_cost(100.0), a_cost(40.0)))
    assert read_runs(tmp_path / "run")[0].result is not None
    journal.record(a_round(2, "kept", a_cost(30.0)), "c")
    (seen,) = read_runs(tmp_path / "run")
    assert (seen.result, len(seen.rounds)) == (None, 2)


def test_reading_a_run_changes_nothing_in_it(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run")
    with (folder / JOURNAL).open("a") as file:
        file.write("{cut")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    read_runs(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_what_is_no_run_is_told_with_the_way_out(tmp_path: Path) -> None:
    a_run(tmp_path / "there")
    (tmp_path / "empty").mkdir()
    for folder, words in {
        tmp_path
        / "ther": f"there is no {tmp_path / 'ther'}; name the folder that optimize was given as --out (runs beside it: "
        f"{tmp_path / 'there'})",
        tmp_path / "empty": "tritonkb optimize FILE",
        tmp_path / "there" / RESULT: f"name the folder of the run, such as {tmp_path / 'there'}",
    }.items():
        with pytest.raises(BadInput, match=re.escape(words)):
            write_report(folder, tmp_path / "out.html", "en")


def test_a_damaged_line_is_named_by_its_number(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run")
    (folder / RESULT).unlink()
    lines = (folder / JOURNAL).read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"verdict": "slower"', b'"verdict": "great"')
    (folder / JOURNAL).write_bytes(b"\n".join(lines))
    with pytest.raises(BadInput, match=r"line 3 of .*journal.jsonl is damaged .*verdict.*; mend that line"):
        write_report(folder, None, "en")
    (folder / JOURNAL).write_bytes(b"")
    with pytest.raises(BadInput, match="has recorded nothing yet"):
        write_report(folder, None, "en")


def test_the_report_goes_beside_the_run_or_where_it_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = a_run(tmp_path / "run")
    assert run(["report", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": str(folder / "report.html")}
    assert run(["report", str(folder), "--out", str(tmp_path / "new" / "x.html"), "--lang", "zh"]) == 0
    assert (tmp_path / "new" / "x.html").read_text().startswith("<!doctype html>")
    assert "报告" in capsys.readouterr().out
    assert run(["report", str(folder), "--out", str(tmp_path)]) == 2
    assert f"{tmp_path}/report.html" in capsys.readouterr().err
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="give another --out"):
        write_report(folder, tmp_path / "file" / "x.html", "en")


def test_a_run_of_twelve_rounds_over_large_ir_stays_small(tmp_path: Path) -> None:
    ir = "\n".join(
        f'%{i} = "hivm.hir.load"(%a{i}) : (memref<{i}xf32, #hivm.address_space<gm>>) -> () loc({"x" * 200})'
        for i in range(600)
    )
    folder = a_run(tmp_path / "run", ir=ir, costs=tuple(100.0 - i for i in range(12)))
    text = rendered(folder)
    assert (folder / JOURNAL).stat().st_size > 3_000_000
    assert len(text.encode()) < 3_000_000
    assert "lines left out: 440" in text


def test_excerpts_mark_what_the_other_side_has_not_whatever_values_are_called() -> None:
    before, after = beside('%1 = "a"(%0)\n"b"(%1)\n"c"()', '%7 = "a"(%arg3)\n"c"()\n"d"()')
    assert [line.sort for line in before.lines] == ["", "del", ""]
    assert [line.sort for line in after.lines] == ["", "", "add"]
    assert [line.sort for line in diff_excerpt("--- a\n+++ b\n@@ -1 +1 @@\n--- x\n+y\n z").lines] == [
        "hunk",
        "del",
        "add",
        "",
    ]
    assert [line.text for line in excerpt("a\r\nb\x0cc\u2028d\n").lines] == ["a", "b\x0cc\u2028d"]


def test_templates_and_catalogue_name_the_same_sentences() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("templates/*.j2"))
    python = "\n".join(
        path.read_text(encoding="utf-8") for path in [*PACKAGE.glob("*.py"), PACKAGE.parents[1] / "cli/report.py"]
    )
    own = {key for key in catalogue() if key.startswith("html.")}
    asked = re.findall(r"""\b(?:t|told)\(\s*["']([a-z0-9_.]+)["']( ~)?""", texts)
    whole = {key if "." in key else f"html.{key}" for key, joined in asked if not joined}
    starts = tuple({key if "." in key else f"html.{key}" for key, joined in asked if joined})
    assert whole <= catalogue().keys()
    assert all(any(key.startswith(start) for key in catalogue()) for start in starts)
    in_code = set(re.findall(r"\bhtml\.[a-z0-9_]+", python + (PACKAGE.parents[1] / "cli/commands.py").read_text()))
    assert {key for key in own - whole - in_code if not key.startswith(starts)} == set()


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_text_has_the_contrast_of_wcag_aa_in_light_dark_and_print() -> None:
    style = (PACKAGE / "templates" / "style.css").read_text()
    palettes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(palettes) == 3
    for palette in palettes:
        for words in ("text", "quiet", "accent", "good", "bad", "odd", "sly"):
            for ground in ("ground", "panel"):
                assert _contrast(palette[words], palette[ground]) >= 4.5, (words, ground, palette)
        for ground in ("add", "del", "hunk"):
            assert _contrast(palette["text"], palette[ground]) >= 4.5
        assert _contrast(palette["quiet"], palette["hunk"]) >= 4.5
        assert _contrast(palette["ground"], palette["good"]) >= 4.5  # the sign of a measured figure


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)
