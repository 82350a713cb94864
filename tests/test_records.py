"""Records: what is written is read again, what was edited is refused, and rows agree or do not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recorded_runs import record, row, write_changed
from zerokin.benchmark.agreement import TOLERANCE, compare_rows
from zerokin.benchmark.records import read_record, read_records, rows_in, seal, write_record
from zerokin.benchmark.spread import half_width95, mean_with_spread
from zerokin.errors import InvalidInput, MissingFile


@given(st.dictionaries(st.text(min_size=1), st.floats(-1e9, 1e9), min_size=1))
def test_a_record_is_read_as_it_was_written(tmp_path_factory, metrics):
    folder = tmp_path_factory.mktemp("results")
    written = record(rows=[row(**{f"m{name}": value for name, value in metrics.items()})])
    assert read_record(write_record(written, folder)) == written


def test_the_order_of_keys_is_nobodys_edit(tmp_path):
    path = write_record(record(), tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(dict(reversed(content.items()))), encoding="utf-8")
    assert read_record(path) == record()


@pytest.mark.parametrize(
    "edit",
    [
        lambda c: c["rows"][0]["metrics"].update(per_class_top1=63.03),
        lambda c: c["rows"].append(row("eszsl")),
        lambda c: c.update(date="2021-01-02"),
        lambda c: c.update(more=1),
        lambda c: c.update(sha256="0" * 64),
        lambda c: c.pop("sha256"),
    ],
)
def test_a_record_that_was_edited_is_refused(tmp_path, edit):
    path = write_record(record(), tmp_path)
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"was changed after it was recorded.*--record makes it"):
        read_record(path)


@pytest.mark.parametrize("version", ["2.0", "10.0", "0.9", 1, None])
def test_a_record_of_another_major_version_is_refused(tmp_path, version):
    path = write_changed(tmp_path, version=version)
    with pytest.raises(InvalidInput, match=r"is a record of version .*this zerokin reads 1\.0"):
        read_record(path)


def test_a_later_minor_version_is_read(tmp_path):
    assert read_record(write_changed(tmp_path, version="1.7", weather="rain")) == record()


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"rows": []}, "rows: List should have at least 1 item"),
        ({"rows": [{"dataset": "cub"}]}, "setting: Field required"),
        ({"rows": [row(per_class_top1="53")]}, "metrics.per_class_top1"),
        ({"date": "yesterday"}, "date: String should match"),
        ({"seeds": ["0"]}, "seeds.0: "),
        ({"format": "zerokin bundle"}, "is no record of results"),
    ],
)
def test_what_is_wrong_with_a_record_is_said_in_a_line(tmp_path, changed, line):
    path = write_changed(tmp_path, **changed)
    with pytest.raises(InvalidInput) as refused:
        read_record(path)
    assert line in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_record_has_the_name_of_its_file(tmp_path):
    path = write_record(record("one"), tmp_path).rename(tmp_path / "two.json")
    with pytest.raises(InvalidInput, match="holds the record 'one'"):
        read_record(path)


@pytest.mark.parametrize("text", ["", "[1", "[" * 100_000, "[]", "3", '{"format": NaN}'])
def test_a_file_that_is_no_record_is_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"x\.json is (not JSON|no record)"):
        read_record(tmp_path / "x.json")


def test_a_folder_of_records(tmp_path):
    assert read_records(tmp_path / "none") == {}
    for name in ("b", "a"):
        write_record(record(name), tmp_path)
    assert list(read_records(tmp_path)) == ["a", "b"]
    with pytest.raises(MissingFile):
        read_record(tmp_path / "c.json")


def test_the_seal_knows_every_value():
    assert seal({"a": {"b": [1, 2]}}) != seal({"a": {"b": [2, 1]}})


def test_rows_of_check_are_its_counts(tmp_path):
    found = {"name": "cub", "counts": {"samples": 7, "seen": 3}, "facts": []}
    (tmp_path / "rows.json").write_text(json.dumps(found), encoding="utf-8")
    assert rows_in(tmp_path / "rows.json")[0]["metrics"] == {"samples": 7.0, "seen": 3.0}


@pytest.mark.parametrize("count", [2, 3, 5, 11])
def test_the_spread_is_scipys_t_interval(count):
    values = np.random.default_rng(count).normal(70, 2, count)
    low, high = stats.t.interval(0.95, count - 1, values.mean(), stats.sem(values))
    assert half_width95(values.tolist()) == pytest.approx((high - low) / 2)
    assert mean_with_spread(values.tolist()) == f"{values.mean():.1f} ± {(high - low) / 2:.1f}"
    # What a standard deviation says is less where seeds are few.
    assert (half_width95(values.tolist()) > values.std(ddof=1)) == (count < 7)


def test_rows_of_features_agree_only_if_they_are_equal():
    kept = record(rows=[row(), row("eszsl", per_class_top1=60.0)])
    again = [row("eszsl", per_class_top1=60.0 + 0.9 * TOLERANCE), row()]
    assert compare_rows(kept, again).whole
    moved = compare_rows(kept, [row("eszsl", per_class_top1=60.001), row()])
    assert (moved.agreeing, moved.total, moved.whole) == (1, 2, False)
    assert moved.differences == ("eszsl, pure, seed 0: per_class_top1 60 recorded, 60.001 here",)


def test_rows_that_are_missing_or_more_are_named():
    found = compare_rows(record(rows=[row(), row(seed=1)]), [row(), row("sae")])
    assert found.agreeing == 1
    assert found.differences == (
        "ridge, pure, seed 1: recorded, but not measured here",
        "sae, pure, seed 0: measured here, but not recorded",
    )


def test_the_name_of_a_folder_of_data_is_no_difference():
    assert compare_rows(record(), [row() | {"dataset": "my birds"}]).whole


def seeds(*values, **more):
    return [row(seed=k, per_class_top1=value, **more) for k, value in enumerate(values)]


def test_trained_networks_agree_within_the_t_interval_of_their_seeds():
    kept = record(rows=seeds(70.0, 71.0, 72.0), trained=True)
    assert compare_rows(kept, seeds(73.4, 73.4, 73.4)).whole  # 2.4 of 2.48 points
    outside = compare_rows(kept, seeds(73.6, 73.6, 73.6))
    assert not outside.whole
    assert "spread 2.484" in outside.differences[0]
    assert not compare_rows(kept, seeds(71.0)).whole


def test_one_seed_of_trained_networks_has_the_spread_that_is_declared():
    kept = record(rows=seeds(70.0), trained=True, spread=2.0)
    assert compare_rows(kept, seeds(71.9)).whole
    assert not compare_rows(kept, seeds(72.1)).whole
    assert not compare_rows(record(rows=seeds(70.0), trained=True), seeds(70.1)).whole


def test_few_shot_accuracies_of_trained_networks_agree_within_their_interval():
    shots = {"ci95": 0.8, "shots": 1, "way": 5}
    kept = record(rows=[row(setting="few-shot", top1=60.0, **shots)], trained=True)
    assert compare_rows(kept, [row(setting="few-shot", top1=60.7, **shots)]).whole
    assert not compare_rows(kept, [row(setting="few-shot", top1=60.9, **shots)]).whole
    assert not compare_rows(
        kept, [row(setting="few-shot", top1=60.0, **shots | {"shots": 5})]
    ).whole


def test_the_area_under_the_curve_is_a_fraction():
    kept = record(rows=[row(ausuc=0.5)], trained=True, spread=2.0)
    assert compare_rows(kept, [row(ausuc=0.519)]).whole
    assert not compare_rows(kept, [row(ausuc=0.53)]).whole
