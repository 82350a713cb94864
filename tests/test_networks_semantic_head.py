"""The end-to-end head and the whole network, against formulas and by their symmetries."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from zerokin.errors import InvalidInput
from zerokin.features.networks import (
    FeatureNetwork,
    HierarchyHead,
    SemanticHead,
    create_backbone,
    semantic_loss,
)
from zerokin.features.networks.semantic_head import reconstruction_error


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


SEEN = np.random.default_rng(0).normal(size=(5, 4)) + 1.0
LAYERS = [np.array([SEEN[:2].mean(0), SEEN[2:].mean(0), [0.0, 3.0, 0.0, 1.0]]), SEEN[:2] + 0.5]
UNSEEN = np.random.default_rng(1).normal(size=(3, 4)) + 1.0


def cosine(one, other):
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / np.sqrt(sum(a * a for a in one)) / np.sqrt(sum(b * b for b in other))


def plain_estimate(head, layer, feature, maps=None):
    """W f + b, plus for each attribute the largest response of its 1 × 1 filter."""
    values = {name: value.detach().numpy() for name, value in head.named_parameters()}
    weight = values[f"projections.{layer}.linear.weight"]
    estimate = weight @ feature + values[f"projections.{layer}.linear.bias"]
    if maps is not None:
        filters = values[f"projections.{layer}.maps.weight"][:, :, 0, 0]
        for attribute in range(len(estimate)):
            responses = [
                sum(
                    filters[attribute, channel] * maps[channel, y, x]
                    for channel in range(len(maps))
                )
                for y in range(maps.shape[1])
                for x in range(maps.shape[2])
            ]
            estimate[attribute] += max(responses)
    return estimate


def plain_image(head, vector):
    """Unit semantics, times the root of their width, through the layers of the image."""
    values = {name: value.detach().numpy() for name, value in head.image.layers.named_parameters()}
    given = vector / np.sqrt(vector @ vector) * np.sqrt(len(vector))
    if head.image_hidden == 0:
        return values["weight"] @ given + values["bias"]
    hidden = np.maximum(values["0.weight"] @ given + values["0.bias"], 0)
    return values["2.weight"] @ hidden + values["2.bias"]


@pytest.mark.parametrize("hidden", [0, 5])
def test_with_an_image_cosines_of_both_spaces_are_averaged(float64, hidden):
    head = SemanticHead(6, SEEN, LAYERS, scale=7.0, centered=True, image_hidden=hidden)
    features = torch.randn(8, 6) * 3 + 1
    outputs = head.train()(features)
    raw = features.numpy()
    standard = (raw - raw.mean(axis=0)) / np.sqrt(raw.var(axis=0) + 1e-5)
    center = SEEN.mean(axis=0)
    for layer, semantics in enumerate([SEEN, *LAYERS]):
        got = (outputs.classes, *outputs.layers)[layer].detach()
        for row in range(8):
            estimate = plain_estimate(head, layer, raw[row])
            wanted = [
                7.0
                * (
                    cosine(estimate, vector - center)
                    + cosine(standard[row], plain_image(head, vector - center))
                )
                / 2
                for vector in semantics
            ]
            np.testing.assert_allclose(got[row], wanted, rtol=0, atol=1e-6)


def test_reconstruction_errors_are_shares_of_a_features_square_length(float64):
    features = torch.cat([1e-3 * torch.randn(4, 6), torch.zeros(1, 6)])
    rebuilt = torch.randn(5, 6)
    found = reconstruction_error(features, rebuilt)
    for f, g, got in zip(features[:4].numpy(), rebuilt.numpy(), found, strict=False):
        assert got.item() == pytest.approx(np.sum((f - g) ** 2) / np.sum(f**2))
    assert found[4].item() == pytest.approx(1e12 * np.sum(rebuilt[4].numpy() ** 2))


def test_limits_of_a_heads_settings():
    head = SemanticHead(1, SEEN, scale=0.5, image_hidden=0)
    assert head(torch.randn(3, 1)).classes.abs().max() <= 0.5
    assert not list(head.image.standardize.parameters())
    assert (SemanticHead(2, SEEN).scale, head.n_seen) == (20, 5)
    for empty in (np.empty((0, 4)), np.empty((4, 0))):
        with pytest.raises(InvalidInput, match="seen_semantics must be a row per class"):
            SemanticHead(2, empty)
    for settings, message in (
        ({"d_f": 0}, "d_f and scale must be above 0: got d_f=0"),
        ({"scale": float("nan")}, "d_f and scale must be above 0"),
        ({"image_hidden": -1}, "image_hidden must be 0 or more, or None: got -1"),
    ):
        with pytest.raises(InvalidInput, match=message):
            SemanticHead(**{"d_f": 2, "seen_semantics": SEEN, **settings})


@pytest.mark.parametrize("d_z", [1, 3, 7])
@pytest.mark.parametrize("hidden", [0, 5])
def test_images_of_semantics_of_any_width_are_compared_in_full_precision(hidden, d_z):
    vectors = np.random.default_rng(d_z).normal(size=(6, d_z))
    head = SemanticHead(9, vectors, image_hidden=hidden).eval()
    features = torch.randn(11, 9)
    standard = features.numpy() / np.sqrt(1 + 1e-5)
    found = head.scores(features, vectors).detach().numpy()
    for row in range(11):
        estimate = plain_estimate(head, 0, features[row].numpy())
        for vector, got in zip(vectors, found[row], strict=True):
            both = cosine(estimate, vector), cosine(standard[row], plain_image(head, vector))
            assert got == pytest.approx(sum(both) / 2, abs=1e-5)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("channels", [None, 3])
def test_logits_are_scaled_cosines(float64, centered, channels):
    head = SemanticHead(6, SEEN, LAYERS, scale=7.0, centered=centered, map_channels=channels)
    features, maps = torch.randn(2, 6), torch.randn(2, 3, 2, 2)
    outputs = head(features, maps)
    unseen = head.scores(features, torch.from_numpy(UNSEEN), maps)
    center = SEEN.mean(axis=0) if centered else 0.0
    for row in range(2):
        own_maps = None if channels is None else maps[row].numpy()
        for layer, semantics in enumerate([SEEN, *LAYERS]):
            estimate = plain_estimate(head, layer, features[row].numpy(), own_maps)
            wanted = [7.0 * cosine(estimate, vector - center) for vector in semantics]
            got = (outputs.classes, *outputs.layers)[layer][row].detach()
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6)
        estimate = plain_estimate(head, 0, features[row].numpy(), own_maps)
        wanted = [cosine(estimate, vector - center) for vector in UNSEEN]
        np.testing.assert_allclose(unseen[row].detach(), wanted, rtol=0, atol=1e-6)


def test_scores_of_the_seen_classes_are_their_logits_unscaled():
    head = SemanticHead(6, SEEN, LAYERS, scale=7.0, centered=True)
    features = torch.randn(2, 6)
    outputs = head(features)
    torch.testing.assert_close(7.0 * head.scores(features, SEEN), outputs.classes)
    torch.testing.assert_close(7.0 * head.scores(features, LAYERS[1], layer=2), outputs.layers[1])


def test_cosines_keep_their_precision_under_autocast():
    head = SemanticHead(6, SEEN)
    features = torch.randn(2, 6)
    with torch.autocast("cpu", torch.bfloat16):
        estimate, logits = head.estimate(features), head(features).classes
    assert estimate.dtype == torch.bfloat16
    wanted = [[cosine(row, vector) for vector in SEEN] for row in estimate.float().tolist()]
    np.testing.assert_allclose(logits.detach() / head.scale, wanted, rtol=0, atol=1e-6)


def test_permuting_classes_permutes_logits():
    order = np.array([3, 0, 4, 1, 2])
    one = SemanticHead(6, SEEN, LAYERS, centered=True)
    other = SemanticHead(6, SEEN[order], LAYERS, centered=True)
    other.projections.load_state_dict(one.projections.state_dict())
    features = torch.randn(2, 6)
    torch.testing.assert_close(other(features).classes, one(features).classes[:, order])
    torch.testing.assert_close(other(features).layers[0], one(features).layers[0])


def test_reconstruction_is_what_the_projection_loses(float64):
    head = SemanticHead(6, SEEN, LAYERS[:1], reconstruction=True)
    features = torch.randn(3, 6)
    outputs = head(features)
    for layer in range(2):
        weight = head.projections[layer].linear.weight.detach().numpy()
        for row, feature in enumerate(features.numpy()):
            rebuilt = plain_estimate(head, layer, feature) @ weight
            wanted = ((feature - rebuilt) ** 2).sum() / (feature**2).sum()
            assert outputs.reconstruction[layer][row].item() == pytest.approx(wanted, abs=1e-9)
    assert SemanticHead(6, SEEN)(features).reconstruction == ()


def test_an_orthonormal_projection_loses_nothing_inside_its_space(float64):
    head = SemanticHead(4, SEEN, reconstruction=True)
    with torch.no_grad():
        head.projections[0].linear.weight.copy_(torch.linalg.qr(torch.randn(4, 4))[0])
        head.projections[0].linear.bias.zero_()
    assert head(torch.randn(3, 4)).reconstruction[0].max().item() < 1e-20
    assert head(torch.zeros(1, 4)).reconstruction[0].isfinite().all()


def test_gradients(float64):
    head = SemanticHead(
        3, SEEN, LAYERS[:1], scale=2.0, centered=True, map_channels=2, reconstruction=True
    )
    names = [name for name, _ in head.named_parameters()]
    features = torch.randn(2, 3, requires_grad=True)
    maps = torch.randn(2, 2, 2, 2, requires_grad=True)

    def loss(features, maps, *parameters):
        given = dict(zip(names, parameters, strict=True))
        outputs = functional_call(head, given, (features, maps))
        total, _ = semantic_loss(
            outputs, torch.tensor([1, 4]), torch.tensor([[0], [2]]), 0.3, mu=0.4
        )
        return total, outputs.classes, outputs.layers[0]

    assert torch.autograd.gradcheck(loss, (features, maps, *head.parameters()))


def test_attribute_maps_see_the_strongest_place_wherever_it_is():
    head = SemanticHead(6, SEEN, map_channels=3)
    features, maps = torch.randn(2, 6), torch.randn(2, 3, 4, 4)
    moved = maps.flatten(2)[:, :, torch.randperm(16)].reshape(maps.shape)
    torch.testing.assert_close(head(features, maps).classes, head(features, moved).classes)
    assert not torch.allclose(head(features, maps).classes, head(features, maps / 2).classes)


def test_semantics_travel_with_the_weights():
    one = SemanticHead(6, SEEN, LAYERS, centered=True)
    other = SemanticHead(6, SEEN * 0 + 1, [layer * 0 + 1 for layer in LAYERS])
    other.load_state_dict(one.state_dict())
    features = torch.randn(2, 6)
    assert torch.equal(one(features).classes, other(features).classes)
    assert torch.equal(one(features).layers[1], other(features).layers[1])
    assert torch.equal(one.scores(features, UNSEEN), other.scores(features, UNSEEN))


@pytest.mark.filterwarnings("error")
def test_arrays_may_be_read_only_or_reversed_and_are_not_shared():
    lent = SEEN.copy()
    lent.setflags(write=False)
    head = SemanticHead(6, lent, [lent[::-1]])
    features = torch.randn(2, 6)
    torch.testing.assert_close(head.scores(features, lent), head(features).classes / head.scale)
    own = torch.from_numpy(SEEN.copy()).float()
    head = SemanticHead(6, own)
    before = head(features).classes
    own.zero_()
    assert torch.equal(head(features).classes, before)


def test_bad_semantics_are_named():
    with pytest.raises(InvalidInput, match=r"layer 2 must have the 4 columns.*got 3"):
        SemanticHead(6, SEEN, [LAYERS[0], LAYERS[1][:, :3]])
    with pytest.raises(InvalidInput, match=r"row per class: got shape \(5,\)"):
        SemanticHead(6, SEEN[:, 0])
    spoiled = SEEN.copy()
    spoiled[3, 1] = np.nan
    with pytest.raises(InvalidInput, match="not finite in row 3"):
        SemanticHead(6, spoiled)
    with pytest.raises(InvalidInput, match="scale=0"):
        SemanticHead(6, SEEN, scale=0)
    head = SemanticHead(6, SEEN, map_channels=3)
    with pytest.raises(InvalidInput, match="needs the feature maps"):
        head(torch.randn(2, 6))
    with pytest.raises(InvalidInput, match="no layer 1: the head has 0 to 0"):
        head.estimate(torch.randn(2, 6), torch.randn(2, 3, 1, 1), layer=1)


@pytest.fixture
def images():
    return torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)


def test_network_joins_backbone_and_head(images):
    backbone = create_backbone("conv4", width=8).eval()
    head = SemanticHead(8, SEEN, LAYERS, map_channels=backbone.channels)
    network = FeatureNetwork(backbone, head)
    maps, features = backbone(images)
    assert torch.equal(network.features(images), features)
    assert torch.equal(network(images).layers[0], head(features, maps).layers[0])
    scores = network.scores(images, torch.from_numpy(UNSEEN))
    assert torch.equal(scores, head.scores(features, torch.from_numpy(UNSEEN), maps))
    plain = FeatureNetwork(backbone, HierarchyHead(8, 5, [3], hidden=4))
    assert plain(images).layers[0].shape == (2, 3)
    with pytest.raises(InvalidInput, match="SemanticHead"):
        plain.scores(images, torch.from_numpy(UNSEEN))
    with pytest.raises(InvalidInput, match="conv4 gives 8 features, the head reads 9"):
        FeatureNetwork(backbone, HierarchyHead(9, 5, [3]))


def test_new_layers_learn_faster_and_no_parameter_is_lost():
    network = FeatureNetwork(create_backbone("conv4", width=8), HierarchyHead(8, 5, [3]))
    groups = network.parameter_groups(0.002)
    assert [(group["name"], group["lr"]) for group in groups] == [
        ("backbone", 0.002),
        ("head", pytest.approx(0.02)),
    ]
    grouped = [id(parameter) for group in groups for parameter in group["params"]]
    assert sorted(grouped) == sorted(id(parameter) for parameter in network.parameters())
    torch.optim.SGD(groups, lr=1.0)
    assert network.parameter_groups(0.002, 3)[1]["lr"] == pytest.approx(0.006)
    network.backbone.requires_grad_(False)
    assert [group["name"] for group in network.parameter_groups(0.002)] == ["head"]
    with pytest.raises(InvalidInput, match="above 0"):
        network.parameter_groups(0)
