"""Turning away what is unlike anything known."""

from __future__ import annotations

import numpy as np
import pytest

from zerokin.errors import InvalidInput
from zerokin.recognizer.confidence.novelty import NoveltyRule, typicality

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("share", [0.0, 0.02, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [7, 49, 50, 99])
def test_a_further_known_sample_is_rejected_at_most_so_often(n, share):
    # Of n + 1 exchangeable samples each in turn is the new one.
    values = RNG.normal(size=n + 1)
    rejected = [
        NoveltyRule.from_known(np.delete(values, i), share=share).rejects(values[i : i + 1])[0]
        for i in range(n + 1)
    ]
    assert np.sum(rejected) == np.floor(share * (n + 1) + 1e-9)


def test_too_few_samples_reject_nothing():
    rule = NoveltyRule.from_known([0.3, 0.4], share=0.1)
    assert rule.threshold is None
    assert not rule.rejects([-9.0]).any()


def test_weights_count_and_their_scale_does_not():
    values = np.arange(100.0)
    weights = np.where(values < 50, 1.0, 9.0)
    rule = NoveltyRule.from_known(values, share=0.05, weights=weights)
    # The lower half holds a tenth of the weight: a twentieth is reached in its middle.
    assert rule.threshold == pytest.approx(25, abs=1)
    assert rule == NoveltyRule.from_known(values, share=0.05, weights=1000 * weights)


def test_order_of_samples_does_not_matter():
    values = RNG.normal(size=200)
    assert NoveltyRule.from_known(values, share=0.07) == NoveltyRule.from_known(
        values[::-1], share=0.07
    )


def test_typicality_of_worked_scores():
    assert typicality([[0.5, 0.1, 0.0]]) == pytest.approx([0.5 - 0.5 * 0.2])


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="share"):
        NoveltyRule.from_known([1.0], share=1.0)
    with pytest.raises(InvalidInput, match="no held-out samples"):
        NoveltyRule.from_known([], share=0.1)
