"""What people get wrong with models of their own: one line that names it, nothing half-written."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from own_images import critters, images_of, write_critter_folder
from own_images import fitted as fitted_images
from zerokin import Recognizer
from zerokin.cli import main
from zerokin.features.networks import create_backbone, save_weights


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("own") / "animals")


@pytest.fixture(scope="module")
def kept(animals):
    fitted_images(animals).save(animals.parent / "bundle")
    return animals.parent / "bundle"


@pytest.fixture
def model(kept, tmp_path):
    return shutil.copytree(kept, tmp_path / "model")


@pytest.fixture
def refused(monkeypatch, capsys, tmp_path):
    """Run a command that must end in one line, with every file below the folder as before."""

    def run(*words):
        before = content(tmp_path)
        monkeypatch.setattr(sys, "argv", ["zerokin", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert ended.value.code == 2
        assert said.out == ""
        assert said.err.startswith("zerokin: ")
        assert said.err.count("\n") == 1
        assert content(tmp_path) == before
        return said.err

    return run


def content(folder: Path):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def image(tmp_path):
    images_of(int(critters().unseen[0]), 1)[0].save(tmp_path / "one.png")
    return tmp_path / "one.png"


def test_weights_of_another_network(animals, refused, tmp_path):
    file = tmp_path / "weights.safetensors"
    save_weights(create_backbone("tf_efficientnet_lite1"), file)
    given = ("-q", "--backbone", "lite0", "--weights", file)
    for command, out in (("fit", "model"), ("extract", "rows.safetensors")):
        error = refused(command, animals, *given, "--out", tmp_path / out)
        assert f"{file} does not fit tf_efficientnet_lite0: " in error
        assert "it is of the preset 'lite1'" in error


@pytest.mark.parametrize(
    ("name", "nearest"), [("dinov2-smal", "dinov2-small"), ("light0", "lite0")]
)
def test_an_unknown_preset_is_told_the_nearest(animals, refused, tmp_path, name, nearest):
    error = refused("fit", animals, "-q", "--out", tmp_path / "model", "--backbone", name)
    assert f"unknown backbone '{name}'; did you mean '{nearest}'?" in error


@pytest.mark.parametrize("name", ["okapi", "unseen"])
def test_what_is_no_image_among_the_shots(model, refused, image, name, tmp_path):
    (tmp_path / "notes.jpg").write_text("not an image", encoding="utf-8")
    known = critters().classes.names[int(critters().unseen[0])] if name == "unseen" else name
    error = refused("add-class", model, known, "--images", image, tmp_path / "notes.jpg")
    assert "notes.jpg cannot be decoded" in error
    assert "no image was added" in error


@pytest.mark.parametrize("level", ["genus", "9", "-1", "1.0"])
def test_a_level_that_does_not_exist(model, refused, image, level):
    error = refused("predict", model, image, f"--level={level}")
    assert f"there is no level '{level}'" in error or f"there is no level {level}" in error
    assert "(levels: 0 class, 1" in error


def test_restrictions_that_leave_nothing(model, refused, image, tmp_path):
    unseen = critters().classes.names[int(critters().unseen[0])]
    (tmp_path / "none.txt").write_text("\n", encoding="utf-8")
    for words, line in [
        (("--classes", ""), "classes is empty: give one name or several"),
        (("--classes", tmp_path / "none.txt"), "none.txt lists no class: write one in a line"),
        (("--candidates", "seen", "--classes", unseen), "leaves no class to choose from"),
        (("--under", "nothing"), "unknown superclass 'nothing' (there are "),
    ]:
        assert line in refused("predict", model, image, *words)


def test_a_class_that_was_removed_and_is_asked_for(model, refused, image):
    gone = critters().classes.names[int(critters().unseen[0])]
    Recognizer.load(model, device="cpu").remove_class(gone).save(model)
    for words in (
        ("predict", model, image, "--classes", gone),
        ("predict", model, image, "--candidates", gone),
        ("remove-class", model, gone),
    ):
        assert f"unknown class '{gone}'" in refused(*words)
