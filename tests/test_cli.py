"""The command line as a user meets it: in a process of its own."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

from builders import OWN_IMAGES, OWN_TABLE, write_own_folder, write_xlsa17_folder
from zerokin.benchmark.few_shot import EpisodePlan
from zerokin.cli import app, main
from zerokin.features.network_settings import NetworkSettings
from zerokin.features.training import Recipe
from zerokin.progress import Verbosity, set_verbosity


def zerokin(*arguments, cwd=None):
    command = [sys.executable, "-m", "zerokin", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False)


def test_check_says_what_is_there_and_exits_0(tmp_path):
    ran = zerokin(
        "check", f"xlsa17={write_xlsa17_folder(tmp_path / 'made')}", "--json", tmp_path / "r"
    )
    assert ran.returncode == 0, ran.stderr
    assert "6: 4 seen, 2 unseen" in ran.stdout
    assert "nothing is wrong" in ran.stdout
    facts = dict(json.loads((tmp_path / "r").read_text())["facts"])
    assert facts["samples"] == "30 feature vectors of length 7"
    assert facts["pure split"].startswith("xlsa17 proposed: 16 train, 4 test seen, 10 test unseen")


def test_check_lists_every_problem_and_exits_2(tmp_path):
    table = OWN_TABLE.replace("zebra,seen", "zebra,sen").replace("eagle", "egle")
    ran = zerokin("check", f"folder={write_own_folder(tmp_path, table, OWN_IMAGES)}")
    assert ran.returncode == 2
    assert ran.stdout.count("problem: ") == 3


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["hierarchy", "criters"], "zerokin: unknown data 'criters'; did you mean 'critters'?"),
        (["hierarchy", "cub=nowhere"], "zerokin: no CUB folder at nowhere"),
        (["hierarchy", "critters", "-t", "9"], "zerokin: 60 classes"),
        (["hierarchy", "critters", "-t", "1"], "zerokin: branching"),
        (["hierarchy", "critters", "--semantics", "word-vectors=none.bin"], "none.bin"),
    ],
)
def test_what_a_user_got_wrong_is_one_line_and_exit_status_2(tmp_path, arguments, line):
    ran = zerokin(*arguments, "--out", "drawn", cwd=tmp_path)
    assert ran.returncode == 2
    assert line in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "line", "help_of"),
    [
        (["predict", "m", "x", "--jsn"], "no such option --jsn; did you mean '--json'?", "predict"),
        (["fit", "m", "--no-tun"], "no such option --no-tun; did you mean '--no-tune'?", "fit"),
        (["--vershion"], "no such option --vershion; did you mean '--version'?", "zerokin"),
        (["predct", "m"], "no such command 'predct'; did you mean 'predict'?", "zerokin"),
        (["fit", "critters"], "missing option '--out'", "fit"),
        (["predict", "m"], "missing argument 'IMAGES|FEATURES|DATA", "predict"),
        (["predict", "m", "x", "-k"], "option '-k' requires an argument", None),
        (
            ["predict", "m", "x", "-k", "two"],
            "invalid value for '-k': ",
            "predict",
        ),
        (
            ["hierarchy", "critters", "--by", "size"],
            "invalid value for '--by': 'size' is not one",
            "hierarchy",
        ),
        (["check", "critters", "more"], "got unexpected extra argument", "check"),
    ],
)
def test_what_is_mistyped_is_one_line_that_points_to_the_help(
    capsys, monkeypatch, arguments, line, help_of
):
    monkeypatch.setattr(sys, "argv", ["zerokin", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    printed, error = capsys.readouterr()
    assert (ended.value.code, printed, error.count("\n")) == (2, "", 1)
    assert error.startswith(f"zerokin: {line}")
    assert help_of is None or error.endswith(f"{help_of} --help)\n")


def test_help_and_no_arguments_are_pages(capsys, monkeypatch):
    for arguments in (["--help"], ["-h"], [], ["predict", "--help"], ["predict", "-h"]):
        monkeypatch.setattr(sys, "argv", ["zerokin", *arguments])
        with pytest.raises(SystemExit):
            main()
        printed, error = capsys.readouterr()
        assert "Usage: " in printed + error
        assert (printed + error).count("\n") > 10


def test_a_folder_alone_is_one_of_own_images(tmp_path):
    folder = write_own_folder(tmp_path, OWN_TABLE, OWN_IMAGES)
    alone, named = zerokin("check", folder), zerokin("check", f"folder={folder}")
    said, expected = (ran.stdout.partition("opened")[0].split() for ran in (alone, named))
    assert (alone.returncode, said) == (0, expected)
    assert "images" in said


def test_unseen_classes_may_be_joined_by_commas(tmp_path):
    folder, sheets = write_own_folder(tmp_path, OWN_TABLE, OWN_IMAGES), []
    for options in (["--unseen", "a,b"], ["--unseen", "a", "--unseen", "b"]):
        ran = zerokin("init", folder, *options, "--force")
        assert ran.returncode == 0, ran.stderr
        sheets.append((folder / "classes.csv").read_text(encoding="utf-8"))
    assert sheets[0] == sheets[1]
    assert [line.split(",")[0] for line in sheets[0].splitlines()[-2:]] == ["a", "b"]


@pytest.fixture
def normal_verbosity():
    yield
    set_verbosity(Verbosity.normal)


@pytest.mark.usefixtures("normal_verbosity")
@pytest.mark.parametrize("place", ["before", "after"])
def test_quiet_shows_no_progress_and_verbose_times_it(capsys, monkeypatch, tmp_path, place):
    data = f"xlsa17={write_xlsa17_folder(tmp_path / 'made')}"
    said = {}
    for flag in ("-q", "--quiet", None, "-v", "--verbose"):
        flags = [] if flag is None else [flag]
        words = ["evaluate", data, "--method", "eszsl"]
        words = flags + words if place == "before" else words + flags
        monkeypatch.setattr(sys, "argv", ["zerokin", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed, said[flag] = capsys.readouterr()
        assert ended.value.code == 0
        assert "eszsl" in printed
    assert said["-q"] == said["--quiet"] == ""
    assert "choosing" in said[None]
    assert " s\n" not in said[None]
    for flag in ("-v", "--verbose"):
        lines = said[flag].splitlines()
        assert len(lines) == 2 * len(said[None].splitlines())
        assert lines[1].endswith(" s")


@pytest.mark.usefixtures("normal_verbosity")
def test_verbose_shows_where_an_error_comes_from_and_both_flags_are_refused(capsys, monkeypatch):
    for words, lines in (
        (["check", "critters", "--split", "no"], 1),
        (["hierarchy", "criters", "-v"], 2),
        (["-q", "-v", "check", "critters"], 1),
    ):
        monkeypatch.setattr(sys, "argv", ["zerokin", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        printed, error = capsys.readouterr()
        assert ended.value.code == 2
        assert ("Traceback" in error) == (lines > 1)
        assert len((printed + error).splitlines()) >= lines


def test_output_to_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ran = subprocess.run(
            [sys.executable, "-m", "zerokin", "hierarchy", "critters"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
    assert "cannot write the output: No space left on device" in ran.stderr


def test_hierarchy_prints_saves_and_draws(tmp_path):
    ran = zerokin("hierarchy", "critters", "-t", "3", "--out", tmp_path / "drawn")
    assert ran.returncode == 0, ran.stderr
    assert "60 classes (15 unseen, marked *) under 6 > 20 superclasses" in ran.stdout
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert names == {"hierarchy.json", "tree.png", "sunburst.png", "tsne.png"}
    saved = json.loads((tmp_path / "drawn" / "hierarchy.json").read_text())
    assert saved["format"] == "zerokin-hierarchy"


def test_hierarchy_from_the_taxonomy(tmp_path):
    ran = zerokin("hierarchy", "critters", "--by", "taxonomy")
    assert ran.returncode == 0, ran.stderr
    assert "superclasses from the top" in ran.stdout


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    ran = zerokin("hierarchy", "critters", "--out", tmp_path / "file")
    assert ran.returncode == 2
    assert "cannot write" in ran.stderr
    assert (tmp_path / "file").read_text() == "in the way"


def test_every_public_name_is_there():
    import zerokin as package

    for name in package.__all__:
        assert getattr(package, name) is not None
    assert dir(package) == sorted(package.__all__)


def test_features_are_fitted_predicted_evaluated_and_compared(tmp_path):
    data = f"xlsa17={write_xlsa17_folder(tmp_path / 'made', n_classes=12, n_unseen=3)}"
    ran = zerokin("fit", data, "--no-tune", "--out", tmp_path / "model")
    assert ran.returncode == 0, ran.stderr
    ran = zerokin("predict", tmp_path / "model", data, "-k", "2", "--out", tmp_path / "named.csv")
    assert ran.returncode == 0, ran.stderr
    lines = (tmp_path / "named.csv").read_text().splitlines()
    ranks = "class_1,probability_1,score_1,class_2,probability_2,score_2"
    assert lines[0].endswith(f",answer,none_of_these,{ranks},error")
    assert [line.split(",")[0] for line in lines[1:3]] == ["c1/1.jpg", "c1/2.jpg"]
    assert len(lines) == 61
    table = tmp_path / "table.md"
    ran = zerokin("compare", data, "--methods", "ridge,eszsl", "--jobs", "2", "--out", table)
    assert ran.returncode == 0, ran.stderr
    assert [line.split("|")[1].strip() for line in table.read_text().splitlines()] == [
        "method",
        "---",
        "ridge",
        "eszsl",
    ]
    ran = zerokin("evaluate", data, "--method", "ridge", "--json", tmp_path / "row.json")
    assert ran.returncode == 0, ran.stderr
    row = json.loads((tmp_path / "row.json").read_text())[0]
    assert (row["setting"], row["method"], row["features"]) == ("pure", "ridge", "res7.mat")
    assert {"top1", "per_class_top1", "hit5"} <= row["metrics"].keys()
    for arguments in (
        ["compare", data, "--methods", "rigde"],
        ["compare", data, "--out", "table.xls"],
        ["compare", data, "--seeds", "one"],
        ["predict", tmp_path / "nowhere", data],
    ):
        ran = zerokin(*arguments)
        assert ran.returncode == 2
        assert ran.stderr.count("\n") == 1, ran.stderr


def test_version_and_light_commands_load_nothing_heavy():
    code = (
        "import sys; from zerokin.cli import app; import zerokin; zerokin.load_dataset('critters');"
        "print([m for m in ('torch', 'sklearn', 'matplotlib', 'gensim') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    assert zerokin("--version").stdout.startswith("zerokin 0.")


@pytest.mark.parametrize(
    ("command", "option", "default"),
    [
        ("fit", "epochs", Recipe.epochs),
        ("extract", "backbone", NetworkSettings.backbone),
        ("evaluate", "way", EpisodePlan.way),
        ("evaluate", "queries", EpisodePlan.queries),
        ("evaluate", "episodes", EpisodePlan.episodes),
    ],
)
def test_what_an_option_says_of_its_default_is_the_class_s(command, option, default):
    """The class is too heavy to be imported for a help page: left out, it decides."""
    found = next(one for one in app.registered_commands if one.callback.__name__ == command)
    parameter = inspect.signature(found.callback, eval_str=True).parameters[option]
    assert parameter.default is None
    assert parameter.annotation.__metadata__[0].help.endswith(f"by default {default}")
