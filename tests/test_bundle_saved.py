"""Bundles on disk: what comes back, what is refused, and what a change leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from own_images import fitted, plain, write_critter_folder
from zerokin.errors import InvalidInput, MissingFile, ZerokinError
from zerokin.files import sha256
from zerokin.recognizer import Recognizer
from zerokin.recognizer.atomic_bundle import (
    is_bundle,
    read_generation,
    read_pointer,
    write_generation,
)

ODD_NAMES = [
    "a/../../b",
    "<script>alert(1)</script>",
    "\u202eחתול",
    'say "x", or y',
    "CON",
    "é" * 200,
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A bundle, the recognizer it was written from, and images."""
    root = tmp_path_factory.mktemp("kept")
    images = write_critter_folder(root / "animals", n_seen=7, n_unseen=2, n_images=3, n_test=1)
    recognizer = fitted(images)
    recognizer.save(root / "bundle")
    return root / "bundle", recognizer, sorted((images / "test").glob("*/*.png"))


@pytest.fixture
def bundle(kept, tmp_path):
    """A copy of the bundle to change."""
    return shutil.copytree(kept[0], tmp_path / "bundle")


def everything(recognizer, files):
    return plain(recognizer.recognize(files, k=99, max_risk=0.5))


def generation(folder) -> Path:
    return folder / read_pointer(folder).generation


def signed_again(folder):
    """Note the hashes of files as they are now, as somebody might who edits by hand."""
    content = json.loads((folder / "bundle.json").read_text())

    def hashes(tree, root):
        return {
            name: hashes(value, root / name) if isinstance(value, dict) else sha256(root / name)
            for name, value in tree.items()
        }

    content["files"] = hashes(content["files"], folder / content["generation"])
    (folder / "bundle.json").write_text(json.dumps(content))


def edited(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_what_is_loaded_answers_as_what_was_saved(kept):
    folder, recognizer, files = kept
    loaded = Recognizer.load(folder)
    assert everything(loaded, files) == everything(recognizer, files)
    assert loaded.classes.attribute_names == recognizer.classes.attribute_names
    assert np.array_equal(loaded.classes.vectors, recognizer.classes.vectors)
    assert loaded.calibrations == recognizer.calibrations
    assert loaded.metrics == recognizer.metrics
    assert loaded.about == recognizer.about
    name = recognizer.classes.names[0]
    assert loaded.examples(name) == recognizer.examples(name) != ()
    assert len(list(folder.glob("v-*"))) == 1
    assert "## License" in (generation(folder) / "README.md").read_text()


def test_nothing_in_a_bundle_is_a_pickle(kept):
    for path in generation(kept[0]).rglob("*.*"):
        assert path.suffix in {".json", ".safetensors", ".csv", ".md", ".jpg"}


def test_names_of_classes_may_hold_anything_and_never_name_files(kept, bundle):
    recognizer, files = Recognizer.load(bundle), kept[2]
    rng = np.random.default_rng(0)
    for name in ODD_NAMES:
        recognizer.add_class(name, vector=rng.random(80))
    recognizer.save(bundle)
    loaded = Recognizer.load(bundle)
    assert list(loaded.classes.names[-len(ODD_NAMES) :]) == ODD_NAMES
    assert everything(loaded, files) == everything(recognizer, files)
    written = [path.relative_to(bundle).as_posix() for path in bundle.rglob("*")]
    assert all(path.isascii() and path.count("/") <= 2 for path in written)
    card = (generation(bundle) / "README.md").read_text()
    assert "<script>" not in card
    for name in ODD_NAMES:
        loaded.remove_class(name)
    loaded.save(bundle)
    assert everything(Recognizer.load(bundle), files) == everything(kept[1], files)


def test_unchanged_files_are_linked_and_generations_before_the_former_go(bundle):
    recognizer = Recognizer.load(bundle)
    before = generation(bundle)
    network = (before / "network" / "network.safetensors").stat().st_ino
    recognizer.add_class("new one", vector=np.ones(80)).save(bundle)
    after = generation(bundle)
    assert after != before
    assert before.exists()
    assert (after / "network" / "network.safetensors").stat().st_ino == network
    recognizer.add_class("next", vector=np.arange(80)).save(bundle)
    kept = sorted([after.name, generation(bundle).name])
    assert not before.exists()
    assert sorted(path.name for path in bundle.iterdir()) == [".lock", "bundle.json", *kept]


def test_without_links_files_are_copied(bundle, monkeypatch):
    def no_links(*_):
        raise OSError(95, "not supported")

    monkeypatch.setattr(os, "link", no_links)
    recognizer = Recognizer.load(bundle)
    recognizer.add_class("new one", vector=np.ones(80)).save(bundle)
    assert "new one" in Recognizer.load(bundle).classes.names


def test_saving_repairs_a_damaged_bundle(kept, bundle):
    recognizer = Recognizer.load(bundle)
    weights = generation(bundle) / "network" / "network.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"oops")
    with pytest.raises(InvalidInput, match="changed or damaged"):
        Recognizer.load(bundle)
    recognizer.save(bundle)
    assert everything(Recognizer.load(bundle), kept[2]) == everything(kept[1], kept[2])


def test_a_change_of_somebody_else_is_not_lost(bundle):
    one, other = Recognizer.load(bundle), Recognizer.load(bundle)
    one.add_class("of one", vector=np.ones(80)).save(bundle)
    with pytest.raises(InvalidInput, match="changed by somebody else"):
        other.add_class("of other", vector=np.ones(80)).save(bundle)
    one.add_class("of one again", vector=np.arange(80.0)).save(bundle)
    assert Recognizer.load(bundle).classes.names[-2:] == ("of one", "of one again")


def test_other_folders_are_left_alone(kept, tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="something else than a bundle"):
        kept[1].save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
    with pytest.raises(InvalidInput, match="is a file"):
        kept[1].save(tmp_path / "note.txt")
    with pytest.raises(MissingFile, match="no bundle in"):
        Recognizer.load(tmp_path)
    assert not is_bundle(tmp_path)


def edit_pointer(change):
    return lambda folder: edited(folder / "bundle.json", change)


def escape_by_name(content):
    content["files"]["../../escaped"] = "0" * 64


def escape_by_folder(content):
    content["files"] = {"..": content["files"]}


def separator(content):
    content["files"]["network/network.safetensors"] = "0" * 64


def drop_weights(folder):
    (generation(folder) / "network" / "network.safetensors").unlink()


def flip_a_byte(folder):
    path = generation(folder) / "classifier" / "numbers.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def add_a_file(folder):
    (generation(folder) / "more.txt").write_text("x")


def link_outside(folder):
    path = generation(folder) / "metrics.json"
    elsewhere = folder.parent / "elsewhere.json"
    shutil.copy(path, elsewhere)
    path.unlink()
    path.symlink_to(elsewhere)


def narrow_prototypes(folder):
    path = generation(folder) / "classifier" / "numbers.safetensors"
    numbers = load_file(path)
    numbers["prototypes"] = np.ascontiguousarray(numbers["prototypes"][:, :-1])
    save_file(numbers, path)
    signed_again(folder)


def other_network(folder):
    path = generation(folder) / "network" / "network.safetensors"
    numbers = load_file(path)
    name = max(numbers, key=lambda key: numbers[key].size)
    numbers[name] = np.ascontiguousarray(numbers[name][:-1])
    save_file(numbers, path)
    signed_again(folder)


def swapped_roles(folder):
    path = generation(folder) / "classes.csv"
    path.write_text(path.read_text().replace(",seen,", ",unseen,", 1))
    signed_again(folder)


def lost_class(folder):
    path = generation(folder) / "classes.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    signed_again(folder)


def lost_risk_map(folder):
    def change(content):
        content["all"]["risk_maps"].pop()

    edited(generation(folder) / "answers.json", change)
    signed_again(folder)


def lost_example(folder):
    def change(content):
        content["ghost"] = ["../../../bundle.json"]

    edited(generation(folder) / "examples" / "index.json", change)
    signed_again(folder)


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (edit_pointer(lambda c: c.update(version=2)), "has version 2, but this zerokin reads 1"),
        (edit_pointer(lambda c: c.update(format="x")), "does not describe a zerokin-bundle"),
        (edit_pointer(lambda c: c.update(generation="../v-0123456789ab")), "is not a name such as"),
        (edit_pointer(lambda c: c.update(generation="v-0123456789ab")), "lacks v-0123456789ab"),
        (edit_pointer(lambda c: c.update(files=[])), "files must be an object"),
        (edit_pointer(lambda c: c["files"].update(x=3)), "x has no SHA-256"),
        (edit_pointer(escape_by_name), "'../../escaped' is not a plain file name"),
        (edit_pointer(escape_by_folder), "'..' is not a plain file name"),
        (edit_pointer(separator), "'network/network.safetensors' is not a plain file name"),
        (lambda folder: (folder / "bundle.json").write_text("{"), "is not JSON"),
        (drop_weights, "network.safetensors is missing"),
        (flip_a_byte, "numbers.safetensors has been changed or damaged"),
        (add_a_file, "more.txt does not belong to the bundle"),
        (link_outside, "metrics.json is missing"),
        (narrow_prototypes, "prototypes"),
        (other_network, "network.safetensors"),
        (swapped_roles, "its roles are not those of the classifier"),
        (lost_class, "classes.csv does not hold the bundle's classes"),
        (lost_risk_map, "risk maps"),
        (lost_example, "names an image that is not there"),
    ],
)
def test_a_bundle_that_was_edited_is_refused_in_one_line(bundle, damage, line):
    damage(bundle)
    with pytest.raises(ZerokinError) as caught:
        Recognizer.load(bundle)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_reader_that_is_overtaken_reads_the_new_generation(tmp_path):
    folder, seen = tmp_path / "bundle", []

    def writer(word):
        return lambda root: (root / "word.txt").write_text(word) and None

    write_generation(folder, writer("old"))

    def read(root):
        seen.append(root.name)
        if len(seen) == 1:
            for word in ("newer", "new"):  # the former is kept, the one before it is not
                write_generation(folder, writer(word))
        return (root / "word.txt").read_text()

    assert read_generation(folder, read) == ("new", seen[1])
    assert len(seen) == 2


def test_leftovers_of_a_killed_first_write_do_not_hinder(kept, tmp_path):
    folder = tmp_path / "bundle"
    (folder / ".v-0123456789ab.part").mkdir(parents=True)
    (folder / "v-ba9876543210").mkdir()
    kept[1].save(folder)
    assert len(list(folder.iterdir())) == 3
    assert everything(Recognizer.load(folder), kept[2]) == everything(kept[1], kept[2])


def test_a_change_that_fails_changes_nothing(bundle, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in bundle.rglob("*") if path.is_file()}
    recognizer = Recognizer.load(bundle).add_class("new one", vector=np.ones(80))
    recognizer.metrics["bad"] = float("nan")
    with pytest.raises(ValueError, match="JSON compliant"):
        recognizer.save(bundle)
    after = {path: path.stat().st_mtime_ns for path in bundle.rglob("*") if path.is_file()}
    lock = bundle / ".lock"
    assert {**after, lock: 0} == {**before, lock: 0}
    assert "new one" not in Recognizer.load(bundle).classes.names


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path):
    def full(root):
        (root / "word.txt").write_text("x")
        raise OSError(28, "No space left on device")

    with pytest.raises(InvalidInput, match=r"cannot write .*: No space left on device"):
        write_generation(tmp_path / "bundle", full)
    assert [path.name for path in (tmp_path / "bundle").iterdir()] == [".lock"]


def test_a_pointer_that_does_not_fit_on_the_disk_leaves_the_old_bundle(tmp_path, monkeypatch):
    folder = tmp_path / "bundle"
    write_generation(folder, lambda root: (root / "word.txt").write_text("old") and None)
    before = sorted(path.name for path in folder.iterdir())

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("zerokin.recognizer.atomic_bundle._write_pointer", full)
    with pytest.raises(InvalidInput, match=r"cannot write .*bundle: No space left on device; free"):
        write_generation(folder, lambda root: (root / "word.txt").write_text("new") and None)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert read_generation(folder, lambda root: (root / "word.txt").read_text())[0] == "old"


def test_a_change_needs_no_room_for_a_second_network(bundle, monkeypatch):
    """Weights are linked from the start: their writer is not even called."""
    weights = next(bundle.glob("v-*/network/network.safetensors"))
    before = weights.stat().st_ino
    recognizer = Recognizer.load(bundle).add_class("new one", vector=np.ones(80))
    monkeypatch.delattr("zerokin.features.networks.weight_files.save_file")
    recognizer.save(bundle)
    linked = generation(bundle) / "network" / "network.safetensors"
    assert linked.stat().st_ino == before
    monkeypatch.undo()
    with torch.no_grad():
        next(recognizer.learner.network_.parameters()).add_(1.0)
    recognizer.save(bundle)
    changed = generation(bundle) / "network" / "network.safetensors"
    assert changed.stat().st_ino != before
    name, tensor = next(iter(recognizer.learner.network_.named_parameters()))
    assert np.array_equal(load_file(changed)[name], tensor.detach().numpy())


def test_readers_beside_a_writer_never_see_a_mixture(tmp_path):
    folder = tmp_path / "bundle"

    def words(number):
        def fill(root):
            for name in ("a.txt", "b.txt"):
                (root / name).write_text(str(number))

        return fill

    def write():
        for number in range(1, 60):
            write_generation(folder, words(number))

    def read(root):
        return [(root / name).read_text() for name in ("a.txt", "b.txt")]

    write_generation(folder, words(0))
    writer = Thread(target=write)
    writer.start()
    found = []
    while writer.is_alive():
        one, other = read_generation(folder, read)[0]
        assert one == other
        found.append(int(one))
    writer.join()
    assert found == sorted(found)
    assert read_generation(folder, read)[0] == ["59", "59"]


def test_threads_add_classes_side_by_side(kept):
    recognizer = Recognizer.load(kept[0])
    vectors = np.random.default_rng(0).random((16, 80))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: recognizer.add_class(f"new {i}", vector=vectors[i]), range(16)))
    assert {f"new {i}" for i in range(16)} <= set(recognizer.classes.names)


def test_the_license_in_the_card_can_be_filled_in_and_stays(bundle):
    card = generation(bundle) / "README.md"
    text = card.read_text()
    card.write_text(re.sub(r"(## License\n\n).*?\n\n(## Use)", r"\1CC BY 4.0, *birds*\n\n\2", text))
    assert card.read_text() != text
    Recognizer.load(bundle).add_class("new one", vector=np.ones(80)).save(bundle)
    Recognizer.load(bundle).add_class("next", vector=np.ones(80)).save(bundle)
    text = (generation(bundle) / "README.md").read_text()
    assert "## License\n\nCC BY 4.0, *birds*\n\n## Use" in text
    assert "next" in text
