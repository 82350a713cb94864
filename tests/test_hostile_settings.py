"""JSON and YAML made to break its reader is refused in one line."""

from __future__ import annotations

import pytest

import zerokin
from hostile_files import DEEP, copied_bundle, laughs, refused
from zerokin.benchmark.ablation.config import read_config
from zerokin.errors import InvalidInput
from zerokin.features.network_config import read_network
from zerokin.recognizer import Recognizer


@pytest.mark.parametrize("text", [DEEP, '{"a":' * 100_000, "9" * 5000, "NaN", ""])
def test_json_made_to_break_the_reader(tmp_path, text):
    bundle, root = copied_bundle(tmp_path / "bundle")
    for path, read in (
        (root / "classifier" / "hierarchy.json", zerokin.ClassHierarchy.load),
        (root / "classifier" / "config.json", lambda _: load_classifier(root)),
        (root / "network" / "features.json", lambda _: load_network(root)),
        (bundle / "bundle.json", lambda _: Recognizer.load(bundle)),
    ):
        path.write_text(text)
        with pytest.raises(InvalidInput) as error:
            read(path)
        assert path.name in refused(error)


def load_classifier(root):
    return zerokin.ZeroShotClassifier.load(root / "classifier")


def load_network(root):
    return zerokin.FeatureLearner.load(root / "network", device="cpu")


LAST = "*a29"
YAML = {
    "deep": DEEP,
    "laughs": laughs(),
    "no date": "seeds: 2001-99-99",
    "date of a tag": "seeds: !!timestamp x",
    "truth of a tag": "seeds: !!bool x",
    "object": "seeds: !!python/object/apply:os.getcwd []",
    "rows": "networks: {a: {}}\nrows: 5",
    "row without a name": "networks: {a: {}}\nrows: [{networks: [a]}]",
    "networks of a row": "networks: {a: {}}\nrows: [{name: x, networks: 5}]",
    "network of a row": "networks: {a: {}}\nrows: [{name: x, networks: [{}]}]",
    "seeds": "networks: {a: {}}\nrows: [{name: x, networks: [a]}]\nseeds: 3",
    "true seed": "networks: {a: {}}\nrows: [{name: x, networks: [a]}]\nseeds: [true]",
    "image_size": "networks: {a: {}}\nrows: [{name: x, networks: [a]}]\ncache_size: [1]",
    "number as a name": "networks: {1: {}}\nrows: []",
    "nothing": "",
    "huge number": f"networks: {{a: {{recipe: {{lr: {'9' * 400}}}}}}}\nrows: []",
    "huge hexadecimal": f"networks: {{a: {{recipe: {{lr: 0x{'f' * 9000}}}}}}}\nrows: []",
    "hidden": "networks: {a: {hidden: [1]}}\nrows: []",
    "branching": "networks: {a: {branching: 1}}\nrows: []",
    "backbone": "networks: {a: {backbone: 5}}\nrows: []",
    "options": "networks: {a: {options: 5}}\nrows: []",
    "tta_flip": "networks: {a: {tta_flip: 5}}\nrows: []",
    "scale": "networks: {a: {scale: .nan}}\nrows: []",
    "resize_mode": "networks: {a: {resize_mode: {}}}\nrows: []",
}


@pytest.mark.parametrize("kind", YAML)
def test_a_hostile_configuration_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "x.yaml"
    path.write_text(YAML[kind])
    with pytest.raises(InvalidInput) as error:
        read_config(path)
    assert "x.yaml" in refused(error)


@pytest.mark.parametrize(
    "place", ["mode", "image_size", "options", "recipe", "lr", "optimizer", "area"]
)
def test_a_billion_laughs_are_not_written_out(tmp_path, place):
    """Aliases share what they stand for: only a message would write all of it."""
    within = {
        "lr": f"recipe: {{lr: {LAST}}}",
        "optimizer": f"recipe: {{optimizer: {LAST}}}",
        "area": f"recipe: {{augmentation: {{area: {LAST}}}}}",
    }
    asked = within.get(place, f"{place}: {LAST}")
    head = laughs().removesuffix(f"last: {LAST}\n").replace("\n", "\n  ").rstrip()
    # Defined where anything may stand, or an unknown entry would be refused first.
    around = "weights" if place == "options" else "options"
    path = tmp_path / "x.yaml"
    path.write_text(f"{around}:\n  {head}\n{asked}\n")
    with pytest.raises(InvalidInput) as error:
        read_network(path)
    assert "x.yaml" in refused(error)
