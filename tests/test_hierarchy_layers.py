"""The rule that gives the number of superclasses of each layer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zerokin.errors import InvalidInput
from zerokin.hierarchy import layer_sizes


def sizes_by_comparison(n_classes: int, t: int) -> list[int]:
    """The rule without division: r is the largest whole number with r · t^l <= C."""
    sizes = []
    power = t
    while True:
        r = 0
        while (r + 1) * power <= n_classes:
            r += 1
        if r < t:
            return sizes
        sizes.append(r)
        power *= t


@pytest.mark.parametrize("n_classes", [50, 200, 717, 1360])
@pytest.mark.parametrize("t", range(2, 9))
def test_sizes_follow_the_rule(n_classes: int, t: int) -> None:
    expected = sizes_by_comparison(n_classes, t)
    if not expected:
        assert (n_classes, t) == (50, 8)  # 50 < 8²: the only pair without a layer
        with pytest.raises(InvalidInput):
            layer_sizes(n_classes, t)
    else:
        assert layer_sizes(n_classes, t) == expected


@given(st.integers(4, 5000), st.integers(2, 12))
def test_sizes_follow_the_rule_everywhere(n_classes: int, t: int) -> None:
    expected = sizes_by_comparison(n_classes, t)
    assert bool(expected) == (n_classes >= t * t)
    if expected:
        assert layer_sizes(n_classes, t) == expected


def test_layers_of_the_papers_data_sets() -> None:
    assert layer_sizes(50, 2) == [25, 12, 6, 3]
    assert layer_sizes(200, 2) == [100, 50, 25, 12, 6, 3]
    assert layer_sizes(717, 5) == [143, 28, 5]
    assert layer_sizes(1360, 4) == [340, 85, 21, 5]


def test_exact_powers_keep_their_last_layer() -> None:
    assert layer_sizes(1000, 10) == [100, 10]
    assert layer_sizes(125, 5) == [25, 5]


def test_too_few_classes_say_what_would_do() -> None:
    with pytest.raises(
        InvalidInput, match=r"50 classes .* branching 8.* at most 7, or at least 64"
    ):
        layer_sizes(50, 8)
    with pytest.raises(InvalidInput, match=r"^3 classes .* branching 2: .* at least 4 classes$"):
        layer_sizes(3, 2)


@pytest.mark.parametrize("branching", [1, 0, -2])
def test_branching_below_two_is_refused(branching: int) -> None:
    with pytest.raises(InvalidInput, match=f"branching is {branching}"):
        layer_sizes(50, branching)


@pytest.mark.parametrize("branching", [2.0, "2", True, None])
def test_branching_must_be_a_whole_number(branching: object) -> None:
    with pytest.raises(InvalidInput, match=r"branching is .*whole number"):
        layer_sizes(50, branching)  # type: ignore[arg-type]


def test_numpy_integers_are_whole_numbers() -> None:
    assert layer_sizes(np.int64(50), np.int32(3)) == [16, 5]
