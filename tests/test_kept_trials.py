"""Trials in files: a search goes on from them, and never takes those of another search."""

from __future__ import annotations

import numpy as np
import pytest

from few_shot_data import clustered_dataset
from zerokin.selection import ClassFoldSearch
from zerokin.selection.method import product_of
from zerokin.selection.zero_shot_space import Ours

SPACE = [product_of(gamma=[1.0, 7.0]), product_of(hub_weight=[0.0, 0.3])]


@pytest.fixture(scope="module")
def dataset():
    return clustered_dataset(n_train=14, n_validation=6, n_test=5, per_class=9)


class Counting(Ours):
    """Ours, which notes what it fits, and stops after so many trials."""

    stages = SPACE

    def __init__(self, most=10**6):
        self.fitted, self.most = [], most

    def fit_many(self, data, trials):
        for params, scorer in zip(trials, super().fit_many(data, trials), strict=True):
            if len(self.fitted) == self.most:
                raise KeyboardInterrupt
            self.fitted.append(params)
            yield scorer


def search(dataset, folder=None, *, most=10**6, **options):
    method = Counting(most)
    found = ClassFoldSearch(method, SPACE, folder=folder, quiet=True, **options)
    return found.fit(dataset)


def found_by(search):
    trials = [(trial.params, trial.unseen, np.array(trial.harmonic)) for trial in search.trials_]
    return search.best_params_, search.best_score_, search.best_seen_penalty_, trials


def fitted(search):
    return search.method.fitted


def test_an_interrupted_search_goes_on_and_finds_the_same(dataset, tmp_path):
    whole = search(dataset)
    for most in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            search(dataset, tmp_path / "trials", most=most)
    kept = len(list((tmp_path / "trials").iterdir()))
    assert kept == 3  # the second took up where the first stopped
    resumed = search(dataset, tmp_path / "trials")
    assert len(fitted(resumed)) == len(fitted(whole)) - kept
    again = search(dataset, tmp_path / "trials")
    assert fitted(again) == []
    for one in (resumed, again):
        for ours, theirs in zip(found_by(one)[:3], found_by(whole)[:3], strict=True):
            assert ours == theirs
        for ours, theirs in zip(found_by(one)[3], found_by(whole)[3], strict=True):
            assert ours[:2] == theirs[:2]
            np.testing.assert_array_equal(ours[2], theirs[2])


def test_trials_on_other_data_are_not_taken(dataset, tmp_path):
    whole = search(dataset, tmp_path)
    other = dataset.with_inputs(np.asarray(dataset.features) * np.float32(1.01))
    assert len(fitted(search(other, tmp_path))) == len(fitted(whole))
    assert len(fitted(search(dataset, tmp_path, random_state=1))) == len(fitted(whole))


def test_a_damaged_trial_is_measured_again(dataset, tmp_path):
    whole = search(dataset, tmp_path)
    first = min(tmp_path.iterdir())
    first.write_text(first.read_text()[:-9])
    again = search(dataset, tmp_path)
    assert len(fitted(again)) == 1
    assert found_by(again)[:3] == found_by(whole)[:3]
