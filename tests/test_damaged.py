"""Damaged images: `check` finds every one, `fit` refuses them or leaves them out."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import zerokin
from own_images import write_critter_folder
from served import zerokin as command
from zerokin.data.check import check
from zerokin.data.damaged import ChosenImages, find_damaged, refuse_damaged, without_samples
from zerokin.errors import InvalidInput

SEEN = 7


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_critter_folder(tmp_path_factory.mktemp("whole") / "animals", n_seen=SEEN)


@pytest.fixture
def animals(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "animals")


def damage(animals):
    """Damage three training images and a test image, each in another way; return their names."""
    seen = sorted(one.name for one in animals.iterdir() if one.is_dir() and one.name != "test")
    names = [f"{seen[0]}/3.png", f"{seen[2]}/0.png", f"{seen[5]}/5.png", f"test/{seen[1]}/1.png"]
    content = (animals / names[0]).read_bytes()
    (animals / names[0]).write_bytes(content[: len(content) // 2])
    (animals / names[1]).write_bytes(b"")
    (animals / names[2]).write_text("<html>404</html>", encoding="utf-8")
    (animals / names[3]).write_bytes(np.random.default_rng(3).bytes(1234))
    return [names[3], *names[:3]]  # as the data set lists them


def test_check_decodes_every_image_unless_told_not_to(animals):
    assert check(f"folder={animals}").passed
    names = damage(animals)
    report = check(f"folder={animals}")
    assert len(report.problems) == len(names)
    for line, name in zip(report.problems, names, strict=True):
        assert str(animals / name) in line
    assert dict(report.facts)["decoded"] == "all images"
    few = check(f"folder={animals}", decode=False)
    assert len(few.problems) < len(names)
    assert dict(few.facts)["decoded"] == f"16 of {2 * SEEN + 6 * SEEN + 6} images"


def test_the_command_says_every_damaged_image_and_shows_progress(animals):
    names = damage(animals)
    said = command("check", animals)
    assert said.returncode == 2
    assert said.stdout.count("problem: ") == len(names)
    assert "decoding images: 62" in said.stderr
    assert command("check", animals, "--no-decode").stderr == ""


def test_damaged_images_are_found_wherever_they_lie(animals):
    names = damage(animals)
    images = zerokin.load_dataset(f"folder={animals}").images
    damaged = find_damaged(images, quiet=True)
    assert [images.names[index] for index in sorted(damaged)] == names
    assert all("\n" not in line for line in damaged.values())
    some = [index for index in range(len(images)) if index not in damaged][:5]
    assert find_damaged(images, some, quiet=True) == {}
    with pytest.raises(InvalidInput) as refusal:
        refuse_damaged(images, damaged)
    line = str(refusal.value)
    assert line.startswith(f"4 of {len(images)} images are damaged ({names[0]}, ")
    assert "--skip-damaged" in line
    assert "\n" not in line


def test_what_is_left_is_the_same_data(animals):
    dataset = zerokin.load_dataset(f"folder={animals}")
    gone = np.sort(np.random.default_rng(11).choice(len(dataset), 9, replace=False))
    for given in (dataset, dataset.with_inputs(ChosenImages(dataset.images, np.arange(62)))):
        left = without_samples(given, gone)
        assert len(left) == len(dataset) - 9
        assert not {dataset.images.names[i] for i in gone} & set(left.images.names)
        for part, own in dataset.split.parts.items():
            kept = [i for i in own.tolist() if i not in gone]
            found = left.split.parts[part]
            assert [left.images.names[i] for i in found] == [dataset.images.names[i] for i in kept]
            assert (
                left.evaluation_labels(found) == dataset.evaluation_labels(np.array(kept))
            ).all()
            for i, j in zip(found.tolist(), kept, strict=True):
                assert left.images.digest(i) == dataset.images.digest(j)
        assert (
            left.images.array(0) == dataset.images.array(np.setdiff1d(range(62), gone)[0])
        ).all()
    first = np.flatnonzero(dataset.evaluation_labels(dataset.split.train) == dataset.seen[0])
    with pytest.raises(InvalidInput, match="seen classes without training samples"):
        without_samples(dataset, dataset.split.train[first])


@pytest.mark.slow
def test_fit_refuses_damaged_images_or_leaves_them_out(animals, tmp_path):
    names = damage(animals)
    config = ("--no-tune", "--backbone", "lite0", "--image-size", "32")
    said = command("fit", animals, "--out", tmp_path / "model", *config)
    assert said.returncode == 2
    line = said.stderr.strip().splitlines()[-1]
    assert line.startswith(f"zerokin: 4 of 62 images are damaged ({names[0]}, {names[1]}, ")
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / "model.training").exists()
    said = command("fit", animals, "--out", tmp_path / "model", "--skip-damaged", *config)
    assert said.returncode == 0, said.stderr
    assert "note: 4 of 62 images are damaged" in said.stdout
    model = zerokin.Recognizer.load(tmp_path / "model", device="cpu")
    assert model.about["notes"][0].endswith("and left out")
    assert int(model.seen.sum()) == SEEN
    # The same as without these files.
    for name in names:
        (animals / name).unlink()
    said = command("fit", animals, "--out", tmp_path / "other", *config)
    assert said.returncode == 0, said.stderr
    other = zerokin.Recognizer.load(tmp_path / "other", device="cpu")
    assert (other.classifier.prototypes_ == model.classifier.prototypes_).all()


def test_skipping_is_for_images(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(2).random((3600, 3)))
    given = ("critters", "--features", tmp_path / "x.npy", "--out", tmp_path / "model")
    said = command("fit", *given, "--skip-damaged")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert "--skip-damaged is for images" in said.stderr
    assert not (tmp_path / "model").exists()
