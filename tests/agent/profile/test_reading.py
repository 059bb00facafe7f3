from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from agent.perf.records import Fill, Occupancy, Profile
from agent.profile.documents import profiles_doc
from agent.profile.limiter import name_limiter
from agent.profile.reading import READERS, read_profiles
from agent.profile.records import KernelProfile, Profiles
from agent.profile.rung import say_measured, say_predicted
from agent.records import Cost, Interval, Launch
from agent.toolchain.targets import find_target
from indexer.errors import BadInput
from indexer.messages import render

SYNTHETIC = Path(__file__).parent / "synthetic"
H200 = Path(__file__).parent / "h200"
TARGET = find_target("ascend910b4")
PREDICTED = Cost(7.0, "predicted", Interval(5.0, 9.0), "load", by_line={None: 1.0, 4: 2.0, 9: 4.0})


def copy(tmp_path: Path, name: str) -> Path:
    shutil.copytree(SYNTHETIC / name, tmp_path / name)
    return tmp_path / name


def test_pipe_utilization_tells_the_busiest_unit_and_the_cores() -> None:
    (found,) = read_profiles(SYNTHETIC / "msopprof").kernels
    assert (found.kernel, found.tool, found.us, found.programs) == ("scale_rows", "msopprof", 12.5, 4)
    assert found.limiter == "load"
    assert found.busy == pytest.approx({"load": 0.85, "vector": 0.2, "scalar": 0.05, "store": 0.1})
    assert found.core_us == (10.0, 10.2, 10.1, 9.9)


def test_of_several_runs_in_a_summary_the_median_one_counts() -> None:
    profiles = read_profiles(SYNTHETIC / "msprof")
    found = {p.kernel: (p.us, p.limiter) for p in profiles.kernels}
    assert found == {"scale_rows": (12.5, "load"), "tiny": (9.0, "launch"), "waiting": (20.0, "sync")}


def test_a_trace_tells_how_long_each_pipe_works() -> None:
    (found,) = read_profiles(SYNTHETIC / "trace").kernels
    assert found.busy == pytest.approx({"load": 0.8, "vector": 0.2, "store": 0.2, "scalar": 0.1})
    assert (found.us, found.limiter) == (10.0, "load")


def test_nsight_compute_tells_memory_from_compute_and_its_units_of_time() -> None:
    found = {p.kernel: p for p in read_profiles(SYNTHETIC / "ncu").kernels}
    assert found["scale_rows"].limiter == "load"
    assert found["scale_rows"].us == pytest.approx(12.5)
    assert found["mm"].limiter == "vector"
    assert found["mm"].us == pytest.approx(1250.0)


@pytest.mark.parametrize(
    ("page", "us", "mm"), [("details", (9.408, 88.032), "vector"), ("raw", (9.472, 88.736), "cube")]
)
def test_what_nsight_compute_wrote_on_a_device_is_read(page: str, us: tuple[float, float], mm: str) -> None:
    """The raw page tells the tensor unit from the others, the details do not."""
    profiles = read_profiles(H200 / page)
    assert profiles.notes == ()
    found = {p.kernel: p for p in profiles.kernels}
    assert (found["scale_rows"].us, found["mm"].us) == (pytest.approx(us[0]), pytest.approx(us[1]))
    assert (found["scale_rows"].limiter, found["mm"].limiter) == ("load", mm)
    assert found["scale_rows"].busy["load"] == pytest.approx(0.44, abs=0.005)


def test_what_proton_wrote_on_a_device_is_read_as_the_mean_of_launches() -> None:
    found = {p.kernel: p.us for p in read_profiles(H200 / "proton").kernels}
    assert found == {"mm": pytest.approx(259.488 / 3), "scale_rows": pytest.approx(17.826 / 3)}


def test_details_of_torchs_profiler_name_the_same_columns_shorter(tmp_path: Path) -> None:
    text = (SYNTHETIC / "msprof" / "op_summary_20260101.csv").read_text().replace("Op Name", "Name")
    (tmp_path / "kernel_details.csv").write_text(text.replace("Task Duration(us)", "Duration(us)"))
    found = {p.kernel: (p.us, p.limiter) for p in read_profiles(tmp_path).kernels}
    assert found["scale_rows"] == (12.5, "load")


def test_proton_tells_only_the_time_and_it_is_said() -> None:
    profiles = read_profiles(SYNTHETIC / "proton")
    (found,) = profiles.kernels
    assert (found.kernel, found.limiter) == ("scale_rows", "")
    assert found.us == pytest.approx(12.5)
    assert [note.key for note in profiles.notes] == ["profile.only_times"]
    assert "9" in render(say_measured(found, PREDICTED, None, TARGET), "en")


def test_missing_columns_are_named_and_the_rest_is_used(tmp_path: Path) -> None:
    folder = copy(tmp_path, "msopprof")
    (folder / "PipeUtilization.csv").write_text("block_id,aiv_time(us),aiv_new_ratio\n0,10.0,0.3\n1,30.0,0.2\n")
    profiles = read_profiles(folder)
    (found,) = profiles.kernels
    assert (found.core_us, found.busy, found.limiter) == ((10.0, 30.0), {}, "imbalance")
    assert "aiv_vec_ratio" in render(profiles.notes[0], "en")


def test_ratios_in_percent_are_taken_as_such(tmp_path: Path) -> None:
    folder = copy(tmp_path, "msopprof")
    path = folder / "PipeUtilization.csv"
    path.write_text(path.read_text().replace(",0.85,", ",85.0,"))
    assert read_profiles(folder).kernels[0].busy["load"] == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("op_summary_1.csv", "a,b\n1,2\n"),
        ("op_summary_1.csv", ""),
        ("trace.json", "{"),
        ("trace.json", '{"traceEvents": 3}'),
        ("trace.json", '[{"ph": "M", "name": "thread_name", "args": {"name": "MTE2"}}, {"ph": "X"}]'),
        ("x.ncu.csv", "no,such,columns\n1,2,3\n"),
        ("x.hatchet", "[1, [], {}]"),
        ("x.hatchet", '[{"frame": {"name": "k"}, "metrics": {"time (ns)": "many"}}]'),
    ],
)
def test_a_file_of_another_form_is_told_and_the_others_are_read(tmp_path: Path, name: str, text: str) -> None:
    folder = copy(tmp_path, "msopprof")
    (folder / name).write_text(text)
    profiles = read_profiles(folder)
    assert [p.kernel for p in profiles.kernels] == ["scale_rows"]
    assert any(name in render(note, "en") for note in profiles.notes)
    assert all(render(note, "en") != render(note, "zh") for note in profiles.notes)


def test_a_folder_without_profiles_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="PipeUtilization"):
        read_profiles(tmp_path)
    with pytest.raises(BadInput, match="no folder"):
        read_profiles(tmp_path / "gone")
    assert len({pattern for pattern, _ in READERS}) == len(READERS)


def test_the_longest_profile_of_a_kernel_is_chosen_also_when_its_name_is_longer() -> None:
    def profile(name: str, us: float) -> KernelProfile:
        return KernelProfile(name, "msprof", (), us)

    profiles = Profiles((profile("rows_0d1d", 3.0), profile("rows_0d1d2", 5.0), profile("other", 9.0)), ())
    assert profiles.of("rows") == profiles.kernels[1]
    assert profiles.of("columns") is None


@pytest.mark.parametrize(
    ("busy", "cores", "us", "limiter"),
    [
        ({"load": 0.9, "vector": 0.5}, (10.0, 10.0), 11.0, "load"),
        ({"load": 0.3, "vector": 0.2}, (10.0, 10.0), 11.0, "sync"),
        ({"load": 0.9}, (10.0, 10.0), 30.0, "launch"),
        ({"load": 0.9}, (10.0, 2.0), 11.0, "imbalance"),
        ({"cube": 0.6, "store": 0.5}, (), None, "cube"),
        ({}, (), 3.0, ""),
    ],
)
def test_one_limiter_is_named(busy: dict[str, float], cores: tuple[float, ...], us: float | None, limiter: str) -> None:
    assert name_limiter(busy, cores, us) == limiter


@pytest.mark.parametrize("name", ["load", "store", "vector", "cube", "scalar", "sync", "launch", "imbalance"])
def test_every_limiter_has_its_words_and_what_comes_next_in_both_languages(name: str) -> None:
    seen = KernelProfile("k", "msprof", (), 5.0, name, {name: 0.7}, (3.0, 9.0))
    said = say_measured(seen, PREDICTED, None, TARGET)
    assert render(said, "en") != render(said, "zh")


def profiled(kind: str, ub_bytes: int) -> Cost:
    filled = Occupancy("ub", 196608, (Fill(0.0, ub_bytes, 4),))
    return replace(PREDICTED, profile=Profile(kind, 1, 1, (filled,), None, {}))


@pytest.mark.parametrize(
    ("limiter", "programs", "ub_bytes", "said"),
    [
        ("imbalance", 100, 150_000, "only 20 at work"),  # 100 programs on 40 cores
        ("imbalance", 80, 150_000, "unequal work"),
        ("load", 4, 150_000, "only 4 programs"),
        ("load", 400, 10_000, "fills 5 % of UB"),
        ("load", 400, 150_000, "the IR's to tell"),
        ("launch", 4000, 10_000, "fills 5 % of UB"),
        ("sync", 400, 10_000, "wait for each other"),
        ("vector", 400, 10_000, "which instructions"),
    ],
)
def test_the_profile_alone_tells_grid_tail_and_tile(limiter: str, programs: int, ub_bytes: int, said: str) -> None:
    launch = Launch("k", Path("k.py"), 1, {}, {}, (programs, 1, 1))
    seen = KernelProfile("k", "msprof", (), 5.0, limiter, {limiter: 0.7})
    cost = replace(profiled("streaming", ub_bytes), limiter=limiter)
    for words in (say_measured(seen, cost, launch, TARGET), say_predicted(cost, launch, TARGET)):
        assert said in render(words, "en")
        assert render(words, "zh")


def test_measured_and_predicted_never_meet_in_one_figure() -> None:
    """All figures of a measured profile are the profiler's own, whatever the prediction is."""
    profiles = read_profiles(SYNTHETIC / "msopprof")
    one = say_measured(profiles.kernels[0], PREDICTED, None, TARGET)
    slower = replace(PREDICTED, value=700.0, interval=Interval(500.0, 900.0), by_line={9: 400.0})
    other = say_measured(profiles.kernels[0], slower, None, TARGET)
    assert one == other
    doc = json.loads(json.dumps(profiles_doc(profiles, "en").to_json()))
    assert doc["kernels"][0]["cost"] == {"value": 12.5, "unit": "us", "basis": "measured"}
