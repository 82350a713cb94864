"""The LSTM unit and the chain up the hierarchy, against a plain transcription of the equations."""

import numpy as np
import pytest
import torch
from torch.func import functional_call

from zerokin.errors import InvalidInput
from zerokin.features.networks import HierarchyHead, SemanticHead, TwoStepLSTM, lstm_step


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(threads)


# The paper's equations for one image, number by number.


def sigmoid(value):
    return 1 / (1 + np.exp(-value))


def times(matrix, vector):
    result = np.zeros(len(matrix))
    for row in range(len(matrix)):
        for column in range(len(vector)):
            result[row] += matrix[row, column] * vector[column]
    return result


def softmax(values):
    exponentials = [np.exp(value) for value in values]
    return np.array([each / sum(exponentials) for each in exponentials])


def gate(weights, name, x, h, c):
    """W_{name,h} h + W_{name,c} c + W_{name,x} x + b_name, gates stored in the order i, f, o, g."""
    size = len(h)
    place = "ifog".index(name)
    part = {key: value[place * size : (place + 1) * size] for key, value in weights.items()}
    return times(part["W_h"], h) + times(part["W_c"], c) + times(part["W_x"], x) + part["b"]


def paper_lstm(x, h, c, weights):
    i = sigmoid(gate(weights, "i", x, h, c))
    f = sigmoid(gate(weights, "f", x, h, c))
    o = sigmoid(gate(weights, "o", x, h, c))
    g = np.tanh(gate(weights, "g", x, h, c))
    c = f * c + i * g
    return o * np.tanh(c), c


def paper_chain(head, feature, scaling):
    """Logits of p_0, of p_1 … and of p̂_1 … for one feature vector."""
    values = {name: value.detach().numpy() for name, value in head.named_parameters()}

    def linear(name, vector):
        return times(values[f"{name}.weight"], vector) + values[f"{name}.bias"]

    classes = linear("class_head", feature)
    own = [linear(f"layer_heads.{layer}", feature) for layer in range(len(head.lstms))]
    return classes, own, chained_logits(head, classes, own, scaling)


def chained_logits(head, classes, own, scaling):
    """Logits of p̂_1 … from those of p_0 and of p_1 …, for one feature vector."""
    values = {name: value.detach().numpy() for name, value in head.named_parameters()}

    def fed(logits):
        return softmax(logits) * (len(logits) if scaling else 1)

    chained = []
    h = c = np.zeros(head.hidden)
    for layer in range(len(head.lstms)):
        shared = {key: values[f"lstms.{layer}.{key}"] for key in ("W_h", "W_c", "b")}
        first = {"W_x": values[f"lstms.{layer}.W_x_below"], **shared}
        second = {"W_x": values[f"lstms.{layer}.W_x_here"], **shared}
        below = classes if layer == 0 else chained[-1]
        h, c = paper_lstm(fed(below), h, c, first)
        h, c = paper_lstm(fed(own[layer]), h, c, second)
        weight, bias = (values[f"readouts.{layer}.{key}"] for key in ("weight", "bias"))
        chained.append(times(weight, h) + bias)
    return chained


def random_cell(d_x, size):
    shapes = {"W_x": (4 * size, d_x), "W_h": (4 * size, size), "W_c": (4 * size, size)}
    weights = {key: torch.randn(shape, dtype=torch.float64) for key, shape in shapes.items()}
    return {**weights, "b": torch.randn(4 * size, dtype=torch.float64)}


def test_one_step_is_the_papers_unit():
    weights = random_cell(5, 3)
    x, h, c = (torch.randn(4, width, dtype=torch.float64) for width in (5, 3, 3))
    new_h, new_c = lstm_step(x, h, c, **weights)
    plain = {key: value.numpy() for key, value in weights.items()}
    for row in range(4):
        want_h, want_c = paper_lstm(x[row].numpy(), h[row].numpy(), c[row].numpy(), plain)
        np.testing.assert_allclose(new_h[row], want_h, rtol=0, atol=1e-12)
        np.testing.assert_allclose(new_c[row], want_c, rtol=0, atol=1e-12)


def test_without_cell_matrices_it_is_the_common_unit():
    weights = random_cell(5, 3)
    weights["W_c"].zero_()
    common = torch.nn.LSTMCell(5, 3, dtype=torch.float64)
    order = [0, 1, 3, 2]  # torch stores i, f, g, o

    def reordered(matrix):
        return torch.cat([matrix.chunk(4)[k] for k in order])

    with torch.no_grad():
        common.weight_ih.copy_(reordered(weights["W_x"]))
        common.weight_hh.copy_(reordered(weights["W_h"]))
        common.bias_ih.copy_(reordered(weights["b"]))
        common.bias_hh.zero_()
    x, h, c = (torch.randn(2, width, dtype=torch.float64) for width in (5, 3, 3))
    ours = lstm_step(x, h, c, **weights)
    for mine, theirs in zip(ours, common(x, (h, c)), strict=True):
        torch.testing.assert_close(mine, theirs)


def test_both_steps_share_all_but_their_input_matrix():
    lstm = TwoStepLSTM(n_below=6, n_here=2, hidden=3)
    sizes = {name: tuple(value.shape) for name, value in lstm.named_parameters()}
    assert sizes == {
        "W_x_below": (12, 6),
        "W_x_here": (12, 2),
        "W_h": (12, 3),
        "W_c": (12, 3),
        "b": (12,),
    }


@pytest.mark.parametrize("scaling", [False, True])
@pytest.mark.parametrize("layer_sizes", [[4], [5, 3], [9, 7, 6, 5, 3, 2]])
def test_chain_is_the_papers(layer_sizes, scaling):
    head = HierarchyHead(4, 11, layer_sizes, hidden=3, input_scaling=scaling).double()
    features = torch.randn(2, 4, dtype=torch.float64)
    outputs = head(features)
    for row in range(2):
        classes, own, chained = paper_chain(head, features[row].numpy(), scaling)
        np.testing.assert_allclose(outputs.classes[row].detach(), classes, rtol=0, atol=1e-6)
        for got, want in zip(outputs.layers, chained, strict=True):
            np.testing.assert_allclose(got[row].detach(), want, rtol=0, atol=1e-6)
        for got, want in zip(outputs.auxiliary, own, strict=True):
            np.testing.assert_allclose(got[row].detach(), want, rtol=0, atol=1e-6)


def test_gradients_of_one_step():
    weights = random_cell(3, 2)
    inputs = [torch.randn(2, width, dtype=torch.float64) for width in (3, 2, 2)]
    tensors = [value.requires_grad_() for value in (*inputs, *weights.values())]

    def step(x, h, c, W_x, W_h, W_c, b):
        return lstm_step(x, h, c, W_x=W_x, W_h=W_h, W_c=W_c, b=b)

    assert torch.autograd.gradcheck(step, tensors)


def test_gradients_of_the_chain():
    head = HierarchyHead(3, 4, [3, 2], hidden=2).double()
    names = [name for name, _ in head.named_parameters()]
    features = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)

    def logits(features, *parameters):
        given = dict(zip(names, parameters, strict=True))
        outputs = functional_call(head, given, (features,))
        return outputs.classes, *outputs.layers, *outputs.auxiliary

    assert torch.autograd.gradcheck(logits, (features, *head.parameters()))


def test_every_layer_reaches_everything_below_it():
    head = HierarchyHead(4, 6, [4, 3, 2], hidden=3)
    outputs = head(torch.randn(5, 4))
    outputs.layers[2].square().sum().backward()
    untouched = {name for name, value in head.named_parameters() if value.grad is None}
    assert untouched == set()
    head.zero_grad()
    head(torch.randn(5, 4)).layers[0].square().sum().backward()
    touched = {name for name, value in head.named_parameters() if value.grad is not None}
    assert {name.split(".")[1] for name in touched if not name.startswith("class_head")} == {"0"}


def test_permuting_classes_permutes_their_logits_and_nothing_else():
    head = HierarchyHead(4, 6, [4, 2], hidden=3).double()
    features = torch.randn(5, 4, dtype=torch.float64)
    before = head(features)
    order = torch.randperm(6)
    with torch.no_grad():
        head.class_head.weight.copy_(head.class_head.weight[order])
        head.class_head.bias.copy_(head.class_head.bias[order])
        head.lstms[0].W_x_below.copy_(head.lstms[0].W_x_below[:, order])
    after = head(features)
    torch.testing.assert_close(after.classes, before.classes[:, order])
    for one, other in zip(after.layers, before.layers, strict=True):
        torch.testing.assert_close(one, other)


def test_input_scaling_is_a_factor_on_the_input_matrices():
    scaled = HierarchyHead(4, 6, [5, 2], hidden=3, input_scaling=True).double()
    plain = HierarchyHead(4, 6, [5, 2], hidden=3, input_scaling=False).double()
    plain.load_state_dict(scaled.state_dict())
    features = torch.randn(3, 4, dtype=torch.float64)
    assert torch.equal(plain(features).classes, scaled(features).classes)
    assert not torch.allclose(plain(features).layers[0], scaled(features).layers[0])
    with torch.no_grad():
        plain.lstms[0].W_x_below.mul_(6)
        plain.lstms[0].W_x_here.mul_(5)
        plain.lstms[1].W_x_below.mul_(5)
        plain.lstms[1].W_x_here.mul_(2)
    for one, other in zip(plain(features).layers, scaled(features).layers, strict=True):
        torch.testing.assert_close(one, other)


def test_auxiliary_heads_add_the_linear_logits_and_no_weights():
    with_them = HierarchyHead(4, 6, [5, 2], hidden=3, auxiliary_heads=True)
    without = HierarchyHead(4, 6, [5, 2], hidden=3, auxiliary_heads=False)
    without.load_state_dict(with_them.state_dict())
    linear = HierarchyHead(4, 6, [5, 2], mode="superclass-heads")
    heads = {k: v for k, v in with_them.state_dict().items() if k.split(".")[0].endswith("head")}
    heads |= {k: v for k, v in with_them.state_dict().items() if k.startswith("layer_heads")}
    linear.load_state_dict(heads)
    features = torch.randn(3, 4)
    one, other, third = with_them(features), without(features), linear(features)
    assert other.auxiliary == ()
    assert third.auxiliary == ()
    for mine, theirs in zip(one.layers, other.layers, strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(one.auxiliary, third.layers, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("mode", ["cnn-rnn", "superclass-heads", "classes"])
@pytest.mark.parametrize("layer_sizes", [[2], [100, 50, 25, 12, 6, 3]])
def test_shapes(mode, layer_sizes):
    outputs = HierarchyHead(7, 150, layer_sizes, mode=mode)(torch.randn(3, 7))
    assert outputs.classes.shape == (3, 150)
    widths = [] if mode == "classes" else layer_sizes
    assert [tuple(logits.shape) for logits in outputs.layers] == [(3, size) for size in widths]


def test_matrices_start_uniform_within_the_root_of_their_inputs():
    lstm = TwoStepLSTM(n_below=50, n_here=7, hidden=31)
    assert not lstm.b.any()
    for name, inputs in (("W_x_below", 50), ("W_x_here", 7), ("W_h", 31), ("W_c", 31)):
        values, bound = getattr(lstm, name), inputs**-0.5
        assert values.shape == (124, inputs)
        assert values.abs().max() <= bound
        assert values.max() > 0.9 * bound
        assert values.min() < -0.9 * bound
        assert abs(values.mean()) < 0.2 * bound


def test_the_smallest_sizes_are_allowed():
    outputs = HierarchyHead(1, 1, [1], hidden=1)(torch.randn(2, 1))
    assert (outputs.classes.shape, outputs.layers[0].shape) == ((2, 1), (2, 1))
    wide = HierarchyHead(3, 4, [2])
    assert (wide.hidden, wide.mode, wide.n_seen) == (128, "cnn-rnn", 4)
    assert len(wide(torch.randn(2, 3)).auxiliary) == 1


def test_bad_settings_are_named():
    with pytest.raises(InvalidInput, match="unknown mode 'cnn_rnn'; did you mean 'cnn-rnn'"):
        HierarchyHead(4, 6, [3], mode="cnn_rnn")
    with pytest.raises(InvalidInput, match=r"at least one superclass layer.*layer_sizes=\[\]"):
        HierarchyHead(4, 6, [])
    with pytest.raises(InvalidInput, match=r"layer_sizes=\[3, 0\]"):
        HierarchyHead(4, 6, [3, 0])
    with pytest.raises(InvalidInput, match="n_seen must be at least 1: got 0"):
        HierarchyHead(4, 0, [3])
    with pytest.raises(InvalidInput, match="hidden=0"):
        TwoStepLSTM(2, 3, 0)
    assert HierarchyHead(4, 6, [], mode="classes")(torch.randn(1, 4)).layers == ()


@pytest.mark.parametrize("auxiliary", [True, False])
@pytest.mark.parametrize("scaling", [True, False])
@pytest.mark.parametrize("hidden", [None, 6])
def test_chain_on_the_end_to_end_head_reads_its_cosines(scaling, auxiliary, hidden):
    """The LSTMs read softmaxes of scaled cosines, layer by layer; classes stay as they are."""
    rng = np.random.default_rng(3)
    seen, layers = rng.normal(size=(7, 5)), [rng.normal(size=(n, 5)) for n in (4, 3, 2)]
    options = {"scale": 6.0, "reconstruction": True, "image_hidden": hidden}
    head = SemanticHead(
        8,
        seen,
        layers,
        chained=True,
        hidden=3,
        input_scaling=scaling,
        auxiliary_heads=auxiliary,
        **options,
    ).double()
    head.eval()
    bare = SemanticHead(8, seen, layers, **options).double()
    shared = bare.load_state_dict(head.state_dict(), strict=False)
    assert not shared.missing_keys
    bare.eval()
    features = torch.randn(5, 8, dtype=torch.float64)
    outputs, compared = head(features), bare(features)
    torch.testing.assert_close(outputs.classes, compared.classes)
    torch.testing.assert_close(outputs.reconstruction, compared.reconstruction)
    torch.testing.assert_close(outputs.auxiliary, compared.layers if auxiliary else ())
    for row in range(5):
        own = [logits[row].detach().numpy() for logits in compared.layers]
        expected = chained_logits(head, compared.classes[row].detach().numpy(), own, scaling)
        for got, want in zip(outputs.layers, expected, strict=True):
            np.testing.assert_allclose(got[row].detach().numpy(), want, atol=1e-12)
    # A loss on the top layer alone reaches the class projection, through every LSTM.
    outputs.layers[-1].sum().backward()
    assert head.projections[0].linear.weight.grad.abs().sum() > 0
    torch.manual_seed(4)
    first = SemanticHead(8, seen, layers).projections[2].linear.weight
    torch.manual_seed(4)
    again = SemanticHead(8, seen, layers, chained=True).projections[2].linear.weight
    assert torch.equal(first, again)
