"""Own images on the command line, from a folder to answers."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from own_images import critters, write_critter_folder
from zerokin.cli import main
from zerokin.commands.predict import table_heading, table_row
from zerokin.recognizer import ImageAnswer, Recognizer
from zerokin.recognizer.image_answer import RankedClass, SelectiveAnswer, Superclass

TRAINING = ("--backbone", "conv4", "--fine-tune", "--mode", "classes", "--epochs", "1")
QUICK = (*TRAINING, "--image-size", "32", "--no-tune", "--one-network", "--device", "cpu")

# Tests that a script runs in the background ignore Ctrl-C, as would whatever they start.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from zerokin.cli import main
main()
"""


@pytest.fixture
def zerokin(monkeypatch, capsys):
    """Run a command in this process; return exit status, output and errors."""

    def run(*arguments, typed=""):
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        monkeypatch.setenv("COLUMNS", "200")
        try:
            main()
            status = 0
        except SystemExit as ended:
            status = ended.code or 0
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("own") / "animals", n_seen=7, n_images=3)


@pytest.fixture(scope="module")
def fitted_bundle(folder):
    bundle = folder.parent / "bundle"
    arguments = ["fit", f"folder={folder}", "--out", str(bundle), *QUICK]
    ran = subprocess.run(
        [sys.executable, "-m", "zerokin", *arguments], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "7 seen and 3 unseen classes" in ran.stdout
    assert "note: the network has seen the validation classes" in ran.stdout
    assert not bundle.with_name("bundle.training").exists()
    return bundle


@pytest.fixture
def bundle(fitted_bundle, tmp_path):
    return shutil.copytree(fitted_bundle, tmp_path / "bundle")


def test_init_lists_seen_and_unseen_classes_to_fill_in(zerokin, folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "own")
    (own / "classes.csv").unlink()
    (own / "no images").mkdir()
    unseen = ("--unseen", "plum mumbler", "--unseen", 'a "b", c')
    status, printed, _ = zerokin("init", f"folder={own}", *unseen, "--attributes", "legs,wings")
    assert status == 0
    assert "7 seen and 2 unseen classes" in printed
    with (own / "classes.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["name", "role", "legs", "wings"]
    seen = sorted(path.name for path in own.iterdir() if path.is_dir())
    seen = [name for name in seen if name not in ("test", "no images")]
    assert rows[1:-2] == [[name, "seen", "", ""] for name in seen]
    assert rows[-2:] == [["plum mumbler", "unseen", "", ""], ['a "b", c', "unseen", "", ""]]
    status, printed, _ = zerokin("check", f"folder={own}")
    assert status == 2
    assert "and 4 more: fill in 2 attributes" in printed
    assert "is empty" not in printed
    kept = (own / "classes.csv").read_text()
    status, _, error = zerokin("init", own)
    assert (status, error.count("\n")) == (2, 1)
    assert "is there already: use --force" in error
    assert (own / "classes.csv").read_text() == kept
    assert zerokin("init", own, "--force")[0] == 0
    assert (own / "classes.csv").read_text().startswith("name,role,description\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere"], "no folder at nowhere"),
        (["{folder}", "--attributes", "a,name"], "attributes must be different names"),
        (["{folder}", "--attributes", "a,a"], "attributes must be different names"),
        (["{folder}", "--unseen", "x", "--unseen", "x"], "unseen classes must be different names"),
        (["{empty}"], "has no sub-folder with images"),
    ],
)
def test_init_says_what_is_wrong(zerokin, folder, tmp_path, arguments, line):
    words = [word.format(folder=folder, empty=tmp_path) for word in arguments]
    status, _, error = zerokin("init", *words, "--force")
    assert status == 2
    assert line in error


def test_predict_answers_as_python_does(zerokin, folder, bundle):
    files = sorted((folder / "test").glob("*/*.png"))
    status, printed, _ = zerokin(
        "predict", bundle, folder / "test", "--json", "-k", 3, "--max-risk", 0.4
    )
    assert status == 0
    answers = Recognizer.load(bundle).recognize(files, k=3, max_risk=0.4)
    assert [json.loads(line) for line in printed.splitlines()] == [a.to_dict() for a in answers]

    listed = "\n".join(map(str, files)) + "\n\n"
    assert (
        zerokin("predict", bundle, "-", "--json", "-k", 3, "--max-risk", 0.4, typed=listed)[1]
        == printed
    )
    pattern = f"{folder}/test/*/*.png"
    assert zerokin("predict", bundle, pattern, "--json", "-k", 3, "--max-risk", 0.4)[1] == printed


def test_python_ranks_five_classes_where_the_command_names_one(zerokin, folder, bundle):
    files = sorted((folder / "test").glob("*/*.png"))
    printed = zerokin("predict", bundle, *files, "--json")[1]
    answers = [answer.to_dict() for answer in Recognizer.load(bundle).recognize(files)]
    assert {len(answer["ranked"]) for answer in answers} == {5}
    for answer in answers:
        del answer["ranked"][1:]
    assert [json.loads(line) for line in printed.splitlines()] == answers


def test_predict_writes_tables_and_csv(zerokin, folder, bundle, tmp_path):
    files = sorted((folder / "test").glob("*/*.png"))[:3]
    answers = Recognizer.load(bundle).recognize(files, candidates="unseen", k=2)
    status, printed, _ = zerokin("predict", bundle, *files, "--candidates", "unseen")
    lines = printed.splitlines()
    assert status == 0
    assert lines[0].split() == ["answer", "prob.", "role", "image"]
    assert len([line for line in lines if line.endswith(".png")]) == 3
    for line, answer in zip((ln for ln in lines if ".png" in ln), answers, strict=True):
        assert line.startswith(answer.best.name)
        assert f"{answer.best.probability:.3f}" in line
    result = tmp_path / "answers.csv"
    command = ("predict", bundle, *files, "--candidates", "unseen", "-k", 2)
    assert zerokin(*command, "--out", result)[0] == 0
    assert zerokin(*command, "--csv")[1] == result.read_text()
    with result.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row, answer in zip(rows, answers, strict=True):
        assert [row["class_1"], row["class_2"]] == [one.name for one in answer.ranked]
        assert float(row["score_2"]) == answer.ranked[1].score
        assert float(row["probability_1"]) == answer.ranked[0].probability


def test_unreadable_images_are_reported_and_the_others_answered(zerokin, folder, bundle, tmp_path):
    good = next((folder / "test").glob("*/*.png"))
    bad = tmp_path / "bad.png"
    bad.write_bytes(good.read_bytes()[:80])
    status, printed, error = zerokin("predict", bundle, bad, good, tmp_path / "no.png", "--json")
    lines = [json.loads(line) for line in printed.splitlines()]
    assert status == 1
    assert ["error" in line for line in lines] == [True, False, True]
    assert [line["image"] for line in lines] == [str(bad), str(good), str(tmp_path / "no.png")]
    assert error.count("\n") == 2
    assert "bad.png cannot be decoded" in error
    status, printed, _ = zerokin("predict", bundle, bad, good, "--csv")
    assert status == 1
    assert "cannot be decoded" in next(iter(csv.DictReader(io.StringIO(printed))))["error"]


def test_a_data_set_may_be_named_instead_of_files(zerokin, folder, bundle):
    status, printed, _ = zerokin("predict", bundle, f"folder={folder}", "--csv")
    assert status == 0
    assert len(printed.splitlines()) == 1 + 7 * 3 + 10 * 2


@pytest.mark.parametrize("more", [[], ["--out", "answers.csv"]])
@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        (["empty"], "no images in empty"),
        (["empty", "also empty"], "no images in empty, also empty"),
        (["-"], "no images: standard input names none"),
        (["aside/*.nothing"], "no file matches 'aside/*.nothing'"),
        (["{image}", "aside/*.nothing"], "no file matches 'aside/*.nothing'"),
        (["aside/*.txt"], "no image among the files that match 'aside/*.txt'"),
        (["hollday.png"], "no image or folder at hollday.png"),
        (["foldr=aside"], "no image or folder at foldr=aside; did you mean 'folder'?"),
    ],
)
def test_where_there_are_no_images_nothing_is_answered(
    zerokin, folder, fitted_bundle, tmp_path, monkeypatch, inputs, line, more
):
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "also empty", "aside"):
        (tmp_path / name).mkdir()
    (tmp_path / "aside" / "note.txt").write_text("mine")
    words = [one.format(image=next((folder / "test").glob("*/*.png"))) for one in inputs]
    status, printed, error = zerokin("predict", fitted_bundle, *words, *more)
    assert (status, printed, error) == (2, "", f"zerokin: {line}\n")
    assert not (tmp_path / "answers.csv").exists()


def test_an_empty_folder_beside_images_is_only_mentioned(zerokin, folder, bundle, tmp_path):
    (tmp_path / "empty").mkdir()
    good = next((folder / "test").glob("*/*.png"))
    status, printed, error = zerokin("predict", bundle, tmp_path / "empty", good)
    assert (status, len(printed.splitlines())) == (0, 2)
    assert error == f"zerokin: no images in {tmp_path / 'empty'}\n"


def test_long_names_and_general_answers_keep_the_columns_of_the_table():
    long = "bramble trundle, dusk mumbler, frostnose trundle and 14 more"
    okapi = RankedClass("okapi", 0.2, 0.5, seen=False)
    tree = (Superclass(long, 1, 0.9),)
    rows = []
    for name, layer in ((long, 1), ("anything", 2), ("okapi", 0), ("none of these", None)):
        hedged = SelectiveAnswer(name, layer, None if layer is None else 0.9, 0.1)
        answer = ImageAnswer("a.png", (okapi,), tree, hedged)
        assert answer.to_dict()["answer"] == name
        rows.append(table_row(answer, 1))
    assert {row.index("a.png") for row in rows} == {table_heading().index("image")}
    assert [row.split()[-2] for row in rows] == ["superclass", "anything", "unseen", "neither"]
    assert rows[0].startswith("bramble trundle, dusk mumbler… ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["{bundle}", "{image}", "--candidates", "plum mumblr"], "did you mean 'plum mumbler'?"),
        (["{bundle}", "{image}", "--json", "--csv"], "give one of --json and --csv"),
        (["{bundle}", "{image}", "--max-risk", "7"], "max_risk must be a number from 0 to 1"),
        (["{bundle}", "{image}", "--features", "f.mat"], "takes images"),
        (["{bundle}x", "x.png"], "no bundle in"),
        (["{bundle}x", "x.png", "--json"], "zerokin fit writes one"),
    ],
)
def test_predict_says_what_is_wrong_in_one_line(zerokin, folder, bundle, arguments, line):
    image = next((folder / "test").glob("*/*.png"))
    status, printed, error = zerokin(
        "predict", *(a.format(bundle=bundle, image=image) for a in arguments)
    )
    assert (status, printed, error.count("\n")) == (2, "", 1)
    assert line in error


def test_classes_are_added_and_removed(zerokin, folder, bundle, tmp_path):
    dataset = critters()
    vector = dataset.classes.vectors[dataset.unseen[7]]
    names = dataset.classes.attribute_names
    told = ",".join(f"{n}={v:g}" for n, v in zip(names, vector, strict=True) if v)
    assert zerokin("add-class", bundle, "told", "--attributes", told)[0] == 0
    (tmp_path / "vector.txt").write_text("\n".join(map(str, vector)))
    assert zerokin("add-class", bundle, "read", "--vector", tmp_path / "vector.txt")[0] == 0
    np.save(tmp_path / "vector.npy", vector)
    status, printed, _ = zerokin("add-class", bundle, "loaded", "--vector", tmp_path / "vector.npy")
    assert (status, printed.split()[-3:]) == (0, ["knows", "13", "classes"])
    recognizer = Recognizer.load(bundle)
    expected = Recognizer.load(folder.parent / "bundle").add_class("told", vector=vector)
    assert np.allclose(recognizer.classifier.prototypes_[-3:], expected.classifier.prototypes_[-1])
    for name in ("told", "read", "loaded"):
        assert zerokin("remove-class", bundle, name)[0] == 0
    left = Recognizer.load(bundle)
    assert left.classes.names == expected.classes.names[:-1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["add-class", "{b}", "x"], "give one of --attributes, --text and --vector"),
        (["add-class", "{b}", "x", "--attributes", "legs"], "'legs' is not NAME=NUMBER"),
        (["add-class", "{b}", "x", "--attributes", "six leg=1"], "unknown attribute 'six leg'"),
        (["add-class", "{b}", "x", "--text", "a beast"], "not by text"),
        (["add-class", "{b}", "x", "--text", " "], "class 'x': --text is empty"),
        (["add-class", "{b}", "x", "--vector", "none.txt"], "none.txt is not a vector"),
        (["add-class", "{b}", "plum mumbler", "--attributes", "legs::six=1"], "there is a class"),
        (["remove-class", "{b}", "honey mumblr"], "did you mean 'honey mumbler'?"),
        (["remove-class", "{b}", "honey mumbler"], "was seen in training"),
        (["remove-class", "{b}x", "honey mumbler"], "no bundle in"),
    ],
)
def test_what_cannot_be_changed_is_said_in_one_line(zerokin, fitted_bundle, arguments, line):
    before = (fitted_bundle / "bundle.json").read_text()
    status, _, error = zerokin(*(word.format(b=fitted_bundle) for word in arguments))
    assert (status, error.count("\n")) == (2, 1)
    assert line in error
    assert (fitted_bundle / "bundle.json").read_text() == before


def test_what_is_odd_about_a_new_class_is_said_and_the_class_added(zerokin, bundle):
    attribute = critters().classes.attribute_names[0]
    status, printed, error = zerokin(
        "add-class", bundle, "Plum  Mumbler", "--attributes", f"{attribute}=20"
    )
    assert (status, printed.split()[-2:]) == (0, ["11", "classes"])
    assert error.splitlines() == [
        "zerokin: warning: class 'Plum  Mumbler': there is 'plum mumbler' already, which differs "
        "by case or spaces alone",
        f"zerokin: warning: class 'Plum  Mumbler': {attribute} is 20, outside 0 to 1 of the other "
        "classes",
    ]
    status, _, error = zerokin("add-class", bundle, "usual", "--attributes", f"{attribute}=1")
    assert (status, error) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--backbone", "conv4"], "conv4 without weights knows nothing"),
        (
            ["--network", "lite9", "--network", "lite0"],
            "unknown backbone 'lite9'; did you mean 'lite",
        ),
        (["--backbone", "conv5", "--fine-tune"], "unknown backbone 'conv5'; did you mean 'conv4'?"),
        (["--out", "{other}"], "holds something else than a bundle"),
        (["--config", "network.yaml"], "--config says how a network is trained: add --fine-tune"),
        (["--fine-tune", "--config", "nowhere.yaml"], "no configuration at nowhere.yaml"),
        (
            ["--fine-tune", "--config", "{config}"],
            "unknown entry 'image_sise'; did you mean 'image_size'?",
        ),
        (["--fine-tune", "--config", "{taught}"], "distillation 0.5 needs a teacher, which fit"),
    ],
)
def test_fit_says_what_is_wrong_before_it_works(zerokin, folder, tmp_path, arguments, line):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "note.txt").write_text("mine")
    (tmp_path / "network.yaml").write_text("image_sise: 32\n")
    (tmp_path / "taught.yaml").write_text("recipe: {distillation: 0.5}\n")
    files = {"other": tmp_path / "other", "config": tmp_path / "network.yaml"}
    files["taught"] = tmp_path / "taught.yaml"
    words = [word.format(**files) for word in arguments]
    status, _, error = zerokin("fit", f"folder={folder}", "--out", tmp_path / "out", *words)
    assert (status, error.count("\n")) == (2, 1)
    assert line in error
    assert not (tmp_path / "out").exists()


def test_a_file_says_how_fit_trains_its_network(zerokin, folder, tmp_path):
    config = tmp_path / "network.yaml"
    config.write_text(
        "{backbone: small, weights: null, image_size: 24, tta_crops: 2, start_interpolation: 0.25, "
        "recipe: {epochs: 1, image_size: 16, initial_image_size: 8, batch_size: 8}}"
    )
    arguments = ("--fine-tune", "--no-tune", "--one-network", "--epochs", "9", "--seed", "3")
    status, *_ = zerokin(
        "fit", f"folder={folder}", "--out", tmp_path / "out", *arguments, "--config", config
    )
    assert status == 0
    learner = Recognizer.load(tmp_path / "out").learner
    assert (learner.settings.backbone, learner.settings.mode) == ("small", "end-to-end")
    assert (learner.settings.image_size, learner.recipe.image_size) == (24, 16)
    # What the file leaves open is the command's.
    assert (learner.recipe.epochs, learner.recipe.seed, learner.recipe.lr) == (1, 3, 0.006)
    card = next((tmp_path / "out").rglob("*.md")).read_text()
    for line in (
        "| image side | 24 |",
        "| crops read beside each image | 2 |",
        "| image side in training | 8 to 16 |",
        "| share of the first weights in those used | 0.25 |",
        "| epochs | 1 |",
    ):
        assert line in card


def test_a_trained_network_teaches_another(zerokin, folder, tmp_path):
    config = tmp_path / "network.yaml"
    settings = "backbone: small\nweights: null\nmode: classes\nimage_size: 16\n"
    config.write_text(f"{settings}recipe: {{epochs: 1, batch_size: 8, image_size: 16}}\n")
    common = ("train", f"folder={folder}", "--device", "cpu", "--config", config)
    assert zerokin(*common, "--out", tmp_path / "first")[0] == 0
    teacher = ("--teacher", tmp_path / "first" / "model")
    status, _, error = zerokin(*common, "--out", tmp_path / "second", *teacher)
    assert (status, error.count("\n")) == (2, 1)
    assert "distillation is 0" in error
    config.write_text(
        f"{settings}recipe: {{epochs: 1, batch_size: 8, image_size: 16, distillation: 0.5}}\n"
    )
    assert zerokin(*common, "--out", tmp_path / "second", *teacher)[0] == 0
    log = (tmp_path / "second" / "training" / "log.jsonl").read_text()
    assert "distillation" in json.loads(log.splitlines()[-1])["loss"]


def test_fit_does_not_drop_classes_that_were_added_later(zerokin, folder, bundle):
    attribute = critters().classes.attribute_names[0]
    assert zerokin("add-class", bundle, "Weekly bird", "--attributes", f"{attribute}=1")[0] == 0
    before = (bundle / "bundle.json").read_text()
    again = ("fit", f"folder={folder}", "--out", bundle, *QUICK)
    status, _, error = zerokin(*again)
    assert (status, error.count("\n")) == (2, 1)
    assert f"{bundle} also knows Weekly bird, which folder={folder} does not" in error
    assert "--replace" in error
    assert (bundle / "bundle.json").read_text() == before
    status, printed, error = zerokin(*again, "--replace")
    assert status == 0, error
    assert f"note: {bundle} knew Weekly bird, too, and no longer does" in printed
    assert len(Recognizer.load(bundle).classes) == 10
    assert zerokin(*again)[0] == 0


def test_fit_over_a_damaged_bundle_mends_it(zerokin, folder, bundle):
    next(bundle.glob("v-*/classes.csv")).write_text("")
    assert zerokin("fit", f"folder={folder}", "--out", bundle, *QUICK)[0] == 0
    assert len(Recognizer.load(bundle).classes) == 10


def test_a_misspelt_class_is_found_by_check_and_by_fit(zerokin, folder, tmp_path):
    own = shutil.copytree(folder, tmp_path / "own")
    table = (own / "classes.csv").read_text()
    (own / "classes.csv").write_text(table.replace("honey mumbler", "hony mumbler"))
    for command in (["check", f"folder={own}"], ["fit", f"folder={own}", "--out", tmp_path / "o"]):
        status, printed, error = zerokin(*command)
        assert status == 2
        assert "did you mean 'hony mumbler'?" in printed + error


def test_a_fit_that_is_interrupted_goes_on(zerokin, folder, tmp_path):
    out, kept = tmp_path / "bundle", tmp_path / "kept"
    # So many that a test kept waiting by other work still comes before the last one.
    longer = [word if word != "1" else "120" for word in QUICK]
    arguments = ["fit", f"folder={folder}", "--out", out, *longer, "--resume-folder", kept]
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
    )
    checkpoint = kept / "network" / "checkpoint.safetensors"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, "it was over before it was interrupted"
    process.send_signal(signal.SIGINT)
    error = process.communicate()[1]
    assert process.returncode == 130
    last = f"zerokin: interrupted; the same command goes on from {kept}\n"
    assert error.endswith(last)
    assert error.count("zerokin: ") == 1
    assert "Traceback" not in error
    assert not out.exists()
    status, printed, error = zerokin(*arguments)
    assert (status, printed.split()[-1]) == (0, str(out)), error
    history = Recognizer.load(out).learner.history_
    assert [epoch.epoch for epoch in history] == [*range(1, 121)]
