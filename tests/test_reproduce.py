"""``zerokin reproduce``: runs again what is recorded, and refuses before it works."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from builders import write_xlsa17_folder
from recorded_runs import record, write_changed
from zerokin.benchmark.catalog import Catalog, Entry, Run, load_catalog
from zerokin.benchmark.records import read_record, write_record
from zerokin.cli import main
from zerokin.commands import reproduce

COMPARE = "zerokin compare xlsa17={cub} --features res7.mat --methods ridge --out {out}/rows.json"
COLUMN = {"heading": "pure", "data": "cub", "setting": "pure", "metric": "per_class_top1"}


@pytest.fixture(scope="module")
def birds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "birds"
    return write_xlsa17_folder(folder, n_classes=13, n_unseen=3, per_class=7)


@pytest.fixture
def zerokin(tmp_path, monkeypatch, capfd):
    """Run a command with a catalog of one small run; return status, output and errors."""
    run = Run(name="small", title="Small", command=COMPARE, needs="birds", data="cub")
    table = Entry(name="table-3", title="T", paper="Table 3", runs=("small",), columns=[COLUMN])
    none = Entry(name="figure-7", title="F", paper="Figure 7", needs="a command")
    catalog = Catalog({"table-3": table, "figure-7": none}, {"small": run})
    monkeypatch.setattr("zerokin.benchmark.catalog.load_catalog", lambda: catalog)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["zerokin", "reproduce", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        printed = capfd.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.fixture
def no_work(monkeypatch):
    """Nothing may be started."""

    def work(*_, **__):
        raise AssertionError("it has begun to work")

    monkeypatch.setattr(reproduce.subprocess, "run", work)


def edited(path: Path, change) -> None:
    """Write a record with other rows, as if they had been measured."""
    kept = read_record(path)
    change(kept.rows[0]["metrics"])
    write_record(kept, path.parent)


def test_a_run_is_recorded_and_agrees_when_it_is_made_again(zerokin, birds, tmp_path):
    assert zerokin("small", birds, "--record")[0] == 0
    path = tmp_path / "results" / "small.json"
    kept = read_record(path)
    assert kept.command == COMPARE
    assert set(kept.data) == {"att_splits.mat", "res7.mat"}
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    assert str(birds) not in path.read_text(encoding="utf-8")
    assert [row["setting"] for row in kept.rows] == ["pure", "generalized"]

    status, said, _ = zerokin("table-3", f"cub={birds}")
    assert status == 0
    assert "small: 2 of 2 rows agree exactly" in said
    elsewhere = shutil.copytree(birds, tmp_path / "renamed")
    assert "2 of 2 rows agree" in zerokin("small", elsewhere)[1]

    edited(path, lambda metrics: metrics.update(per_class_top1=metrics["per_class_top1"] + 0.01))
    status, said, _ = zerokin("small", birds)
    assert status == 1
    assert "small: 1 of 2 rows agree exactly" in said
    assert "ridge, pure, seed 0: per_class_top1" in said

    assert zerokin("small", birds, "--record")[0] == 0
    assert zerokin("small", birds)[0] == 0


def test_the_recorded_command_is_the_one_that_is_run(zerokin, birds, tmp_path):
    zerokin("small", birds, "--record")
    kept = read_record(tmp_path / "results" / "small.json")
    other = kept.model_copy(update={"command": COMPARE.replace("ridge", "eszsl")})
    write_record(other, tmp_path / "results")
    status, said, _ = zerokin("small", birds)
    assert status == 1
    assert "eszsl, pure, seed 0: measured here, but not recorded" in said


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["tabel-3"], "unknown table or figure 'tabel-3'; did you mean 'table-3'?"),
        (["figure-7"], "figure-7 cannot be made: it needs a command"),
        (["table-3"], "table-3 has no record"),
        (["small"], "small needs data: zerokin reproduce small cub=DIR"),
        (["small", "nowhere"], "small: no folder of cub at nowhere"),
        (["small", "sun=nowhere"], "there is no data set 'sun' here, only cub"),
        (["small", "BIRDS", "--results", "/dev/null/x", "--record"], "cannot write /dev/null/x"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_line_before_any_work(zerokin, birds, arguments, line):
    status, _, complaint = zerokin(*(str(birds) if one == "BIRDS" else one for one in arguments))
    assert status == 2
    assert complaint.startswith("zerokin: ")
    assert complaint.count("\n") == 1
    assert line in complaint


@pytest.mark.usefixtures("no_work")
def test_a_record_that_was_edited_or_is_of_another_version_is_refused(zerokin, birds, tmp_path):
    write_changed(tmp_path / "results", "small", date="2021-01-01", sealed=False)
    for arguments in (("small", birds), ("--list",)):
        status, _, complaint = zerokin(*arguments)
        assert (status, complaint.count("\n")) == (2, 1)
        assert "was changed after it was recorded" in complaint
    write_changed(tmp_path / "results", "small", version="2.0")
    assert "is a record of version '2.0'" in zerokin("small", birds)[2]


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("command", "line"),
    [
        (COMPARE + " --setting standard", "small: the standard setting needs a standard split"),
        (COMPARE.replace("ridge", "rigde"), "small: unknown method 'rigde'; did you mean 'ridge'?"),
        (COMPARE.replace("--methods", "--metods"), "no such option --metods"),
        (COMPARE.replace("res7.mat", "res8.mat"), "res8.mat"),
        ("zerokin evaluate xlsa17={sun} --json {out}/rows.json", "give sun=DIR"),
        ("zerokin ablation none.yaml xlsa17={cub} --out {out}", "no configuration at none.yaml"),
        ("python benchmarks/none.py xlsa17={cub}", "no script at benchmarks/none.py"),
    ],
)
def test_what_a_recorded_command_would_refuse_is_refused_at_once(
    zerokin, birds, tmp_path, command, line
):
    write_record(record("small", command=command), tmp_path / "results")
    status, _, complaint = zerokin("small", birds)
    assert status == 2
    assert complaint.count("\n") == 1
    assert line in complaint


@pytest.mark.usefixtures("no_work")
def test_a_split_without_test_samples_of_seen_classes_is_refused(zerokin, tmp_path):
    lacking = write_xlsa17_folder(tmp_path / "b", {}, {"test_seen_loc": [[]]}, n_classes=13)
    write_record(record("small", command=COMPARE), tmp_path / "results")
    status, _, complaint = zerokin("small", lacking)
    assert status == 2
    assert "no test samples of seen classes: the generalized setting needs some" in complaint


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    "command", ["python script.py xlsa17={cub} --json {out}/rows.json", COMPARE]
)
def test_a_split_without_validation_folds_is_refused(zerokin, tmp_path, command):
    (tmp_path / "script.py").write_text("", encoding="utf-8")
    few = write_xlsa17_folder(tmp_path / "few", n_classes=5, n_unseen=2, per_class=5)
    write_record(record("small", command=command), tmp_path / "results")
    status, _, complaint = zerokin("small", few)
    assert (status, complaint.count("\n")) == (2, 1)
    assert "small: few has no validation folds, so nothing can be chosen on it" in complaint


@pytest.mark.usefixtures("no_work")
def test_other_files_than_the_recorded_ones_are_refused(zerokin, birds, tmp_path):
    hashes = {"res7.mat": "ab" * 32}
    write_record(record("small", command=COMPARE, data=hashes), tmp_path / "results")
    status, _, complaint = zerokin("small", birds)
    assert status == 2
    assert "small: res7.mat is not the file of the record small" in complaint


def test_the_list_says_what_is_recorded_and_what_is_missing(zerokin, tmp_path):
    assert "small: not measured: needs birds" in zerokin("--list")[1]
    write_record(record("small", command=COMPARE), tmp_path / "results")
    said = zerokin("--list")[1]
    assert "small: recorded 2020-01-02" in said
    assert "not measured: needs a command" in said
    assert COMPARE in zerokin("table-3", "--list")[1]


def test_a_command_that_fails_is_no_agreement(zerokin, birds, tmp_path, monkeypatch):
    write_record(record("small", command=COMPARE), tmp_path / "results")

    class Failed:
        returncode = 3

    monkeypatch.setattr(reproduce.subprocess, "run", lambda *_, **__: Failed)
    status, _, complaint = zerokin("small", birds)
    assert status == 2
    assert "its command ended with status 3" in complaint


def test_cub_is_what_its_record_says(zerokin, real_data, tmp_path, monkeypatch):
    kept = Path(__file__).parents[1] / "results" / "cub-data.json"
    monkeypatch.setattr("zerokin.benchmark.catalog.load_catalog", load_catalog)
    status, said, _ = zerokin("cub-data", real_data / "cub", "--results", kept.parent)
    assert status == 0
    assert "cub-data: 1 of 1 rows agree exactly" in said
    assert json.loads(kept.read_text(encoding="utf-8"))["rows"][0]["metrics"]["unseen"] == 50
