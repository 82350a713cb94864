"""Features of a grid of regions, against the network's own maps."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from test_extraction import Watched, dataset_of
from zerokin.cli import app
from zerokin.data import MultiLabelDataset, load_dataset
from zerokin.data.native_features import NativeFeatures
from zerokin.errors import InvalidInput
from zerokin.features.extraction import extract_features, extract_xlsa17
from zerokin.features.extractor import Extractor
from zerokin.features.networks import create_backbone, save_weights
from zerokin.features.reading import View


def maps_of(backbone, dataset, size):
    """Return the maps (N, C, h, w) of images resized as extraction does without a zoom."""
    from zerokin.features.input.sources import open_source

    source = open_source(dataset.images, size, resize_mode="whole", device=torch.device("cpu"))
    rows = [np.arange(len(dataset))]
    with torch.no_grad():
        return backbone.eval()(next(iter(source.batches(rows)))).maps


@pytest.mark.parametrize(
    ("name", "size", "regions"),
    [("resnet18", 96, 3), ("resnet18", 96, 2), ("vit_tiny_patch16_224", 64, 4), ("conv4", 48, 3)],
)
def test_regions_are_the_cells_of_the_maps(tmp_path, name, size, regions):
    torch.manual_seed(0)
    options = {"input_size": size} if name.startswith("vit") else {}
    backbone = create_backbone(name, **options)
    images = Watched()
    view = View(image_size=size, tta_flip=False, batch_size=3, regions=regions)
    made = extract_features(backbone, dataset_of(images), tmp_path / "f.safetensors", view=view,
                            quiet=True)  # fmt: skip
    maps = maps_of(backbone, dataset_of(images), size)
    cells = torch.nn.functional.adaptive_avg_pool2d(maps, regions)
    expected = cells.flatten(2).transpose(1, 2).numpy()
    assert made.shape == (11, regions**2, backbone.channels)
    np.testing.assert_allclose(made.open(), expected, atol=2e-5 * np.abs(expected).max())
    assert NativeFeatures(tmp_path / "f.safetensors").recipe["regions"] == regions


def test_mirrored_regions_are_turned_back(tmp_path):
    torch.manual_seed(1)
    backbone = create_backbone("resnet18")
    dataset = dataset_of(Watched())
    flipped = dataset_of(Watched(np.ascontiguousarray(dataset.images.pixels[:, :, ::-1])))
    view = View(image_size=96, regions=3, batch_size=4)
    made = [
        extract_features(backbone, data, tmp_path / f"{at}.safetensors", view=view, quiet=True)
        for at, data in enumerate((dataset, flipped))
    ]
    one, other = (np.asarray(file.open()) for file in made)
    grid = one.reshape(11, 3, 3, -1)
    np.testing.assert_allclose(
        grid[:, :, ::-1].reshape(one.shape), other, atol=1e-4 * np.abs(one).max()
    )
    assert np.abs(grid[:, :, 0] - grid[:, :, 2]).max() > 1e-3


def test_features_of_whole_images_are_as_before(tmp_path):
    backbone = create_backbone("conv4")
    made = Extractor.from_network(backbone, view=View(image_size=32))
    assert "regions" not in made.recipe()
    assert made.width == backbone.d_f


@pytest.mark.parametrize(
    ("view", "line"),
    [
        (View(32, regions=-1), "regions must be from 0 to 32"),
        (View(32, regions=33), "regions must be from 0 to 32"),
        (View(32, regions=2, tta_crops=3), "leave out tta_crops"),
    ],
)
def test_views_that_have_no_regions_are_refused(tmp_path, view, line):
    with pytest.raises(InvalidInput, match=line):
        Extractor.from_network(create_backbone("conv4"), view=view)
    with pytest.raises(InvalidInput, match="gives no features of regions"):
        Extractor.from_network(create_backbone("conv4", flatten=True), view=View(84, regions=2))
    with pytest.raises(InvalidInput, match="one vector an image"):
        extract_xlsa17(
            create_backbone("conv4"), dataset_of(Watched()), tmp_path / "x",
            view=View(32, regions=2),
        )  # fmt: skip


def test_the_command_writes_regions_that_data_of_several_labels_takes(tmp_path, monkeypatch):
    from zerokin.data.readers import critters_scenes

    monkeypatch.setattr(critters_scenes, "TRAIN_SCENES", 140)
    monkeypatch.setattr(critters_scenes, "TEST_SCENES", 23)
    monkeypatch.setattr(critters_scenes, "SIZE", 32)
    out = tmp_path / "regions.safetensors"
    backbone = create_backbone("conv4")
    save_weights(backbone, tmp_path / "own.safetensors")
    given = ["--backbone", "conv4", "--weights", str(tmp_path / "own.safetensors")]
    given += ["--image-size", "32", "--regions", "2", "--device", "cpu", "--out", str(out)]
    ran = CliRunner().invoke(app, ["extract", "critters-scenes", *given])
    assert ran.exit_code == 0, ran.output
    data = load_dataset("critters-scenes", features=str(out))
    assert isinstance(data, MultiLabelDataset)
    assert data.finite_features(data.split.train[:5]).shape == (5, 4, backbone.channels)
