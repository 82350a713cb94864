"""Critters: a fair table, attributes that can be seen, images that repeat themselves."""

import dataclasses
import hashlib
import subprocess
import sys
from collections import Counter
from itertools import combinations
from types import MappingProxyType

import numpy as np
import pytest
from PIL import Image

from zerokin.critters import (
    ATTRIBUTE_NAMES,
    IMAGES_PER_SPECIES,
    SPECIES,
    attribute_matrix,
    find,
    portrait,
    render,
    scene,
    species,
    validation_folds,
)
from zerokin.critters.__main__ import main as sheet_command
from zerokin.critters.attributes import FLAGS, GRADES, VALUES
from zerokin.critters.sheet import SEEN, UNSEEN, image_sheet
from zerokin.errors import InvalidInput

SEEN_SPECIES = [one for one in SPECIES if not one.unseen]
UNSEEN_SPECIES = [one for one in SPECIES if one.unseen]


def test_sizes_are_what_the_documentation_says():
    assert (len(SPECIES), len(SEEN_SPECIES), len(UNSEEN_SPECIES)) == (60, 45, 15)
    assert len(VALUES) == 30
    assert attribute_matrix().shape == (60, len(ATTRIBUTE_NAMES)) == (60, 80)


def test_names_are_unique_lower_case_words():
    names = [one.name for one in SPECIES]
    assert len(set(names)) == len(names)
    assert all(word.isalpha() and word.islower() for name in names for word in name.split())


def test_taxonomy_is_a_tree_with_unseen_species_in_every_family():
    assert len({one.order for one in SPECIES}) == 4
    families = Counter(one.family for one in SPECIES)
    assert len(families) == 10
    assert len({(one.order, one.family) for one in SPECIES}) == 10
    for family in families:
        members = [one for one in SPECIES if one.family == family]
        assert 1 <= sum(one.unseen for one in members) <= 2
        assert len({(one.attributes["body"], one.attributes["legs"]) for one in members}) == 1


def test_unseen_species_recombine_what_seen_species_show():
    for one in UNSEEN_SPECIES:
        for group, value in one.attributes.items():
            shown = sum(other.attributes[group] == value for other in SEEN_SPECIES)
            assert shown >= 3, f"{one.name}: {group}={value} is shown by {shown} seen species"


def test_every_pair_of_species_differs_in_three_attributes():
    for one, other in combinations(SPECIES, 2):
        differing = [g for g in VALUES if one.attributes[g] != other.attributes[g]]
        assert len(differing) >= 3, (one.name, other.name, differing)


def test_matrix_rows_are_distinct_and_spell_the_attributes():
    matrix = attribute_matrix()
    assert len(np.unique(matrix, axis=0)) == len(SPECIES)
    for one, row in zip(SPECIES, matrix, strict=True):
        named = dict(zip(ATTRIBUTE_NAMES, row, strict=True))
        for group, value in one.attributes.items():
            if group in FLAGS:
                assert named[f"has::{group}"] == (value == "yes")
            elif group in GRADES:
                assert named[f"{group}::{list(GRADES[group])[-1]}"] == GRADES[group][value]
            else:
                hot = [name for name in named if name.startswith(f"{group}::") and named[name]]
                assert hot == ([] if value == "none" else [f"{group}::{value}"])


def test_coat_and_accent_can_be_told_apart():
    assert all(one.attributes["coat"] != one.attributes["accent"] for one in SPECIES)


def with_value(one, group, value):
    return dataclasses.replace(one, attributes=MappingProxyType({**one.attributes, group: value}))


def is_drawn_on(one, group):
    needs_legs = group in ("feet", "stance", "socks")
    return not (needs_legs and one.attributes["legs"] == "none")


@pytest.fixture
def plain_scene(monkeypatch):
    """Every animal true to its kind, at home, with nothing in front, in a frame that holds still.

    The frame fits the animal, so that any tall ornament would shift all pixels: held still, what
    differs between two images is the part itself.
    """
    monkeypatch.setattr(scene, "_extent", lambda *_: (-0.5, -0.55, 0.55))
    monkeypatch.setattr(scene, "_occlude", lambda *_: None)
    monkeypatch.setattr(scene, "HOME", 1.0)
    monkeypatch.setattr(scene, "VARIATION", 0.0)


@pytest.mark.parametrize("group", VALUES)
def test_every_value_of_an_attribute_is_visible(group, plain_scene):
    able = [one for one in SPECIES if is_drawn_on(one, group)]
    values = [v for v in VALUES[group] if (group, v) != ("feet", "none")]
    for value in values:
        for one in [one for one in able if one.attributes[group] != value][::17][:3]:
            changed = []
            for index in range(3):
                before = render(one, index).astype(int)
                after = render(with_value(one, group, value), index).astype(int)
                changed.append((np.abs(after - before).max(axis=2) > 30).sum())
            assert np.mean(changed) > 8, f"{one.name} with {group}={value}: {changed} pixels"


def test_some_animals_depart_from_their_kind_in_what_varies_only():
    one = find("honey mumbler")
    generator = np.random.default_rng(0)
    departures = Counter()
    for _ in range(2000):
        own = scene.individual(one.attributes, generator)
        departures.update(group for group in VALUES if own[group] != one.attributes[group])
        assert own["coat"] != own["accent"]
    assert set(departures) == set(scene.VARIABLE)
    for group in scene.VARIABLE:  # 3 standard deviations; few accents are taken back
        assert abs(departures[group] / 2000 - scene.VARIATION) < 0.03


def test_images_are_the_same_in_another_process():
    code = (
        "import hashlib; from zerokin.critters import find, render; h = hashlib.sha256();"
        "[h.update(render(find(n), i, seed=5).tobytes())"
        " for n in ('honey mumbler', 'polar blubb', 'fern zizzer') for i in (0, 59)];"
        "print(h.hexdigest())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = hashlib.sha256()
    for name in ("honey mumbler", "polar blubb", "fern zizzer"):
        for index in (0, 59):
            here.update(render(find(name), index, seed=5).tobytes())
    assert there.stdout.strip() == here.hexdigest()


def test_a_image_depends_on_name_index_and_seed():
    one = find("dawn prancet")
    image = render(one, 4)
    assert image.shape == (64, 64, 3)
    assert image.dtype == np.uint8
    np.testing.assert_array_equal(image, render(dataclasses.replace(one, unseen=True), 4))
    others = [
        render(one, 5),
        render(one, 4, seed=1),
        render(dataclasses.replace(one, name="dusk prancet"), 4),
    ]
    assert all((image != other).mean() > 0.5 for other in others)


def test_no_image_of_a_species_repeats():
    one = find("clover domble")
    images = {render(one, index).tobytes() for index in range(IMAGES_PER_SPECIES)}
    assert len(images) == IMAGES_PER_SPECIES


def test_size_changes_the_pixels_and_not_the_scene():
    for one in SPECIES[::9]:
        small = render(one, 1).astype(float)
        large = render(one, 1, size=256).astype(float)
        assert large.shape == (256, 256, 3)
        reduced = large.reshape(64, 4, 64, 4, 3).mean(axis=(1, 3))
        assert np.abs(reduced - small).mean() < 8.0
        assert np.abs(reduced - render(one, 2)).mean() > 16.0


def test_portraits_are_at_home_and_true_to_kind(monkeypatch):
    one = find("amber gauzel")
    image = portrait(one, size=64)
    monkeypatch.setattr(scene, "VARIATION", 1.0)
    monkeypatch.setattr(scene, "HOME", 0.0)
    np.testing.assert_array_equal(portrait(one, size=64), image)
    assert (portrait(one, size=64, seed=1) != image).mean() > 0.2
    assert (portrait(with_value(one, "coat", "teal"), size=64) != image).mean() > 0.02


def test_the_command_writes_a_sheet_or_says_what_is_wrong(tmp_path):
    path = tmp_path / "sheet.png"
    sheet_command([str(path), "ribbonets"])
    with Image.open(path) as sheet:
        assert sheet.width > 6 * 144
    with pytest.raises(InvalidInput, match="did you mean 'ribbonets'"):
        sheet_command([str(path), "ribonets"])
    with pytest.raises(InvalidInput, match="say where to write"):
        sheet_command([])


def test_most_images_show_the_own_habitat_and_the_others_vary(monkeypatch):
    class Seen(Exception):
        pass

    places = []

    def note(pen, place, horizon, rng):
        places.append(place)
        raise Seen

    monkeypatch.setattr(scene, "backdrop", note)
    one = find("reed stiltling")
    for index in range(600):
        with pytest.raises(Seen):
            render(one, index)
    counts = Counter(places)
    assert abs(counts["shore"] / 600 - 0.7) < 0.06  # 3 standard deviations
    assert min(counts[place] for place in VALUES["habitat"] if place != "shore") >= 18


def test_folds_part_the_seen_species_by_name_alone(monkeypatch):
    folds = validation_folds()
    assert sorted(name for fold in folds for name in fold) == sorted(
        one.name for one in SEEN_SPECIES
    )
    for fold in folds:
        assert len(fold) == 15
        assert len({find(name).family for name in fold}) >= 9
        others = [one for one in SEEN_SPECIES if one.name not in fold]
        for name in fold:
            for group, value in find(name).attributes.items():
                assert sum(other.attributes[group] == value for other in others) >= 2
    monkeypatch.setattr(species, "SPECIES", SPECIES[::-1])
    assert validation_folds() == folds


def test_wrong_arguments_are_named():
    with pytest.raises(InvalidInput, match="did you mean 'honey mumbler'"):
        find("hony mumbler")
    with pytest.raises(InvalidInput, match="index must be a whole number from 0: got -1"):
        render(SPECIES[0], -1)
    with pytest.raises(InvalidInput, match="size must be a whole number from 16 to 1,024: got 8"):
        render(SPECIES[0], 0, size=8)


def test_sheet_prints_unseen_captions_in_their_own_colour():
    images = [np.full((96, 96, 3), 255, np.uint8)] * 3
    plain = image_sheet(images, ["one", "two", "three"], columns=3)
    marked = image_sheet(
        images,
        ["one", "two", "three"],
        columns=3,
        highlight=[False, True, False],
        row_titles=["row"],
        legend=("seen", "unseen"),
    )
    assert marked.height > plain.height

    def has(image, colour):  # glyphs are antialiased: near enough is the colour
        return bool((np.abs(np.asarray(image, dtype=int) - colour).max(axis=2) < 40).any())

    assert has(plain, SEEN)
    assert not has(plain, UNSEEN)
    assert has(marked, UNSEEN)
    with pytest.raises(InvalidInput, match="3 images, 1 captions"):
        image_sheet(images, ["one"])


def test_a_sheet_has_room_for_captions_of_two_lines():
    white = [np.full((96, 96, 3), 255, np.uint8)] * 2
    one, two = (image_sheet(white, ["a", caption], columns=1) for caption in ("b", "b\nis c"))
    line = (two.height - one.height) // 2
    assert line >= 14

    def inked(sheet):  # rows of pixels with text in them, from the bottom
        dark = np.abs(np.asarray(sheet, dtype=int) - SEEN).max(axis=2) < 40
        return np.flatnonzero(dark.any(axis=1)) - sheet.height

    assert inked(two).max() == pytest.approx(inked(one).max(), abs=2)
    assert inked(two).min() <= inked(one).min() - line
