"""Backbones: shapes, normalization, architecture by counting, names that do not exist."""

import pytest
import torch

from zerokin.errors import InvalidInput, MissingFile
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.networks import create_backbone


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("name", "side", "maps", "d_f", "input_size"),
    [
        ("vgg16", 64, (512, 2, 2), 512, 224),
        ("conv4", 84, (64, 5, 5), 64, 84),
        ("resnet12", 32, (640, 2, 2), 640, 84),
        ("tf_efficientnet_lite0", 64, (1280, 2, 2), 1280, 224),
        ("mobilenetv3_small_050", 64, (288, 2, 2), 1024, 224),
        ("convnext_atto", 64, (320, 2, 2), 320, 224),
    ],
)
def test_shapes(name, side, maps, d_f, input_size):
    backbone = create_backbone(name).eval()
    with torch.inference_mode():
        output = backbone(torch.rand(2, 3, side, side))
    assert tuple(output.maps.shape) == (2, *maps)
    assert tuple(output.features.shape) == (2, d_f)
    assert (backbone.name, backbone.d_f, backbone.channels) == (name, d_f, maps[0])
    assert backbone.input_size == input_size


def test_wide_resnet_has_the_known_size():
    with torch.device("meta"):
        backbone = create_backbone("wrn28-10")
    # 36,479,194 parameters with CIFAR-10's classifier of 640 × 10 + 10, as published: 36.5 million.
    assert count(backbone) + 6410 == 36_479_194
    # One to begin with, two in each of twelve blocks, three to match shortcuts.
    assert sum(isinstance(m, torch.nn.Conv2d) for m in backbone.modules()) == 1 + 2 * 12 + 3
    maps, features = backbone.eval()(torch.empty(1, 3, 84, 84, device="meta", dtype=torch.uint8))
    assert tuple(maps.shape) == (1, 640, 21, 21)
    assert tuple(features.shape) == (1, 640)
    with torch.device("meta"):
        fast = create_backbone("wrn28-10", stem_stride=2)
    maps, _ = fast.eval()(torch.empty(1, 3, 84, 84, device="meta", dtype=torch.uint8))
    assert tuple(maps.shape) == (1, 640, 11, 11)
    with pytest.raises(InvalidInput, match="stem_stride must be 1 or 2: got 3"):
        create_backbone("wrn28-10", stem_stride=3)


def test_few_shot_networks_have_the_known_layers():
    conv4 = create_backbone("conv4")
    # Three input channels, then 64 to 64 three times, without biases; two numbers a batch norm.
    assert count(conv4) == 9 * 64 * (3 + 64 + 64 + 64) + 4 * 2 * 64
    resnet12 = create_backbone("resnet12", dropout=0.1)
    expected = sum(
        9 * w * (i + w + w) + i * w + 4 * 2 * w
        for i, w in ((3, 64), (64, 160), (160, 320), (320, 640))
    )
    assert count(resnet12) == expected
    narrow = create_backbone("resnet12", width=45)  # EASY's ResNet-12 (1/√2)
    assert [block.residual[0].out_channels for block in narrow.model] == [45, 112, 225, 450]
    assert (narrow.d_f, narrow.channels) == (450, 450)
    assert {m.p for m in resnet12.modules() if isinstance(m, torch.nn.Dropout)} == {0.1}
    slopes = {m.negative_slope for m in resnet12.modules() if isinstance(m, torch.nn.LeakyReLU)}
    assert slopes == {0.1}


def test_vgg16_is_timms_without_its_dense_layers():
    from timm.models.vgg import VGG

    theirs = VGG([8, "M"]).features  # the layout of one group: convolution, ReLU, pooling
    assert [type(layer) for layer in theirs] == [
        type(layer) for layer in list(create_backbone("vgg11").model.features)[:3]
    ]
    import timm

    with torch.device("meta"):
        full = timm.create_model("vgg16_bn")
        ours = create_backbone("vgg16_bn")
    wanted = {k: v.shape for k, v in full.state_dict().items() if k.startswith("features.")}
    assert {k: v.shape for k, v in ours.model.state_dict().items()} == wanted


def test_conv4_flattens_on_request_as_few_shot_papers_do():
    backbone = create_backbone("conv4", flatten=True).eval()
    assert backbone.d_f == 1600
    maps, features = backbone(torch.rand(1, 3, 84, 84))
    assert torch.equal(features, maps.reshape(1, 1600))
    with pytest.raises(InvalidInput, match="must be 84 pixels a side, got 32 × 32"):
        backbone(torch.rand(1, 3, 32, 32))
    assert create_backbone("conv4", flatten=True, input_size=32).d_f == 64 * 4


@pytest.mark.parametrize(
    ("name", "shift", "divisor"),
    [
        ("tf_efficientnet_lite0", (127.0,) * 3, (128.0,) * 3),
        ("conv4", (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
        ("vit_tiny_patch16_224", (127.5,) * 3, (127.5,) * 3),
    ],
)
def test_normalization_is_the_models_own_for_bytes_and_fractions(name, shift, divisor):
    backbone = create_backbone(name)
    images = torch.randint(0, 256, (2, 3, 8, 8), dtype=torch.uint8)
    expected = torch.stack(
        [(images[:, channel].double() - shift[channel]) / divisor[channel] for channel in range(3)],
        dim=1,
    )
    for given in (images, images.float() / 255, images.double() / 255):
        torch.testing.assert_close(backbone.normalize(given), expected.float(), rtol=0, atol=1e-5)
    doubled = backbone.double().normalize(images)
    assert doubled.dtype == torch.float64


def test_same_features_for_bytes_and_fractions():
    backbone = create_backbone("resnet12").eval()
    images = torch.randint(0, 256, (2, 3, 16, 16), dtype=torch.uint8)
    with torch.inference_mode():
        torch.testing.assert_close(backbone(images), backbone(images / 255))


def test_transformer_patches_keep_their_place():
    backbone = create_backbone("vit_tiny_patch16_224", input_size=64, depth=1).eval()
    assert backbone.input_size == 64
    images = torch.rand(1, 3, 64, 64)
    with torch.inference_mode():
        maps, features = backbone(images)
        hidden = backbone.model.forward_features(backbone.normalize(images))
    assert tuple(maps.shape) == (1, 192, 4, 4)
    assert tuple(features.shape) == (1, 192)
    torch.testing.assert_close(maps[0, :, 2, 3], hidden[0, 1 + 2 * 4 + 3])
    with pytest.raises(InvalidInput, match=r"vit_tiny_patch16_224 \(input_size=64\): .*80"):
        backbone(torch.rand(1, 3, 80, 80))


def test_images_that_cannot_be_meant_are_refused():
    backbone = create_backbone("conv4", width=4)
    with pytest.raises(InvalidInput, match=r"\(B, 3, height, width\): got \(1, 32, 32, 3\)"):
        backbone(torch.rand(1, 32, 32, 3))
    with pytest.raises(InvalidInput, match="0 to 255"):
        backbone(torch.linspace(0, 255, 3 * 32 * 32).view(1, 3, 32, 32))
    with pytest.raises(InvalidInput, match=r"before any normalization.*-2 to 2"):
        backbone(torch.linspace(-2, 2, 3 * 32 * 32).view(1, 3, 32, 32))
    with pytest.raises(InvalidInput, match=r"torch\.int64"):
        backbone(torch.zeros(1, 3, 32, 32, dtype=torch.long))


def test_unknown_names_and_options_are_named():
    with pytest.raises(InvalidInput, match="'conv-4'; did you mean 'conv4'"):
        create_backbone("conv-4")
    with pytest.raises(InvalidInput, match="did you mean 'tf_efficientnet_lite0'"):
        create_backbone("tf_efficientnet_light0")
    with pytest.raises(InvalidInput, match=r"'resnet18\.a1_in1'; did you mean 'resnet18\.a1_in1k'"):
        create_backbone("resnet18.a1_in1")
    with pytest.raises(InvalidInput, match=r"conv4 does not take that option.*dropout"):
        create_backbone("conv4", dropout=0.1)
    with pytest.raises(InvalidInput, match=r"resnet18 does not take that option.*flatten"):
        create_backbone("resnet18", flatten=True)
    with pytest.raises(InvalidInput, match=r"below 1: got 1\.5"):
        create_backbone("resnet12", dropout=1.5)
    for width in (0, 2.5, True):
        with pytest.raises(InvalidInput, match="width must be a whole number from 1"):
            create_backbone("resnet12", width=width)
    with pytest.raises(InvalidInput, match="input_size must be at least 1: got 0"):
        create_backbone("conv4", input_size=0)
    with pytest.raises(InvalidInput, match="mixer_s32_224 reads images of 224 × 224 pixels only"):
        create_backbone("mixer_s32_224", input_size=96)


def test_a_hub_that_cannot_be_reached_says_what_to_do(monkeypatch):
    import timm

    def unreachable(name, **options):
        assert options["pretrained"]
        raise OSError("no route\nto the host")

    monkeypatch.setattr(timm, "create_model", unreachable)
    with pytest.raises(MissingFile, match=r"resnet18 could not .*hub \(no route\): .*weight file"):
        create_backbone("resnet18", weights="hub")
    with pytest.raises(InvalidInput, match="the hub has no weights for resnet12"):
        create_backbone("resnet12", weights="hub")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backbone": "smal"}, "unknown backbone 'smal'; did you mean 'small'"),
        ({"backbone": "small"}, "no packaged weights for 'small' .*weights=None"),
        ({"backbone": "conv4", "weights": "hub"}, "the hub has no weights for conv4"),
        ({"backbone": "resnet18.a1_in1", "weights": "hub"}, r"did you mean 'resnet18\.a1_in1k'"),
        ({"mode": "cnnrnn"}, "mode must be one of .*: got 'cnnrnn'; did you mean 'cnn-rnn'"),
        ({"grouping": "kmean"}, "grouping must be one of .*: got 'kmean'; did you mean 'kmeans'"),
        (
            {"resize_mode": "hole"},
            "resize_mode must be one of .*: got 'hole'; did you mean 'whole'",
        ),
        ({"device": "cudda"}, "unknown device 'cudda': use cpu or cuda"),
    ],
    ids=str,
)
def test_a_feature_learner_refuses_what_it_can_know_when_it_is_made(settings, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureLearner(**settings)


def test_images_that_vanish_in_pooling_are_refused():
    with pytest.raises(InvalidInput, match="images of 8 × 9 pixels are too small for conv4"):
        create_backbone("conv4")(torch.rand(2, 3, 8, 9))
