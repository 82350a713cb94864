"""Class vectors as every method sees them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from zerokin.errors import InvalidInput
from zerokin.semantics import unit_rows


def test_rows_keep_their_direction_and_lose_their_length():
    vectors = np.array([[3.0, 4.0], [-5.0, 12.0]])
    units = unit_rows(vectors, ["a", "b"])
    np.testing.assert_allclose(units, [[0.6, 0.8], [-5 / 13, 12 / 13]], rtol=1e-15)
    np.testing.assert_array_equal(vectors, [[3.0, 4.0], [-5.0, 12.0]])


def test_nothing_is_centered():
    same = np.tile([1.0, 2.0, 2.0], (4, 1))
    np.testing.assert_allclose(unit_rows(same, "abcd"), same / 3)


@given(
    arrays(np.float64, (3, 4), elements=st.floats(-10, 10).filter(lambda x: abs(x) > 1e-3)),
    st.integers(-300, 300),
)
def test_scaling_a_row_changes_nothing_even_at_the_ends_of_the_range(vectors, exponent):
    scaled = vectors * 10.0**exponent
    np.testing.assert_allclose(unit_rows(scaled, "abc"), unit_rows(vectors, "abc"), atol=1e-12)


def test_every_class_without_a_direction_is_named():
    vectors = np.ones((6, 2), dtype=np.float32)
    vectors[1] = 0
    vectors[2, 0] = np.nan
    vectors[4, 1] = -np.inf
    vectors[5] = 0
    names = ["ant", "bee", "cat", "dog", "eel", "fox"]
    with pytest.raises(InvalidInput) as caught:
        unit_rows(vectors, names)
    message = str(caught.value)
    assert "all zero for 'bee', 'fox'" in message
    assert "NaN or infinite for 'cat', 'eel'" in message
    assert "ant" not in message
    assert "dog" not in message


@pytest.mark.parametrize(
    ("vectors", "names", "said"),
    [
        ([[1, 2]], ["a", "b"], "1 class vectors for 2 class names"),
        ([1, 2], ["a", "b"], r"not of shape \(2,\)"),
        (np.ones((2, 0)), ["a", "b"], r"not of shape \(2, 0\)"),
        ([["x", "y"]], ["a"], "real numbers"),
        ([[1j, 2]], ["a"], "real numbers"),
        ([[1, 2], [3]], ["a", "b"], "same length"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(vectors, names, said):
    with pytest.raises(InvalidInput, match=said):
        unit_rows(vectors, names)
