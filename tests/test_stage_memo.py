"""The memo of the stages: same arguments, same result; bounded; no stale data."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from zerokin.classifiers.memo import Memo, count_bytes


def double(array, times=2.0):
    return array * times


def test_data_count_by_identity_and_parameters_by_value():
    memo, one = Memo(), np.arange(7.0)
    first = memo(double, one, times=3.0)
    assert memo(double, one, times=3.0) is first
    assert memo(double, one, times=4.0) is not first
    assert memo(double, one.copy(), times=3.0) is not first
    assert memo(double, one, times=True) is not memo(double, one, times=1)
    assert len(memo) == 5


def test_a_freed_array_never_lends_its_place_to_another():
    """Arrays that come and go take one address in turn: results are never mixed up."""
    memo = Memo()
    for value in range(50):
        memo.start_trial()
        np.testing.assert_array_equal(memo(double, np.full(11, value)), np.full(11, 2 * value))


def test_what_was_used_least_recently_is_dropped_with_all_that_was_made_of_it():
    data = np.ones(1000)
    memo = Memo(max_bytes=3 * data.nbytes)
    first = memo(double, data, times=1.0)
    memo(double, first)  # made of it
    gone = weakref.ref(first)
    del first
    memo.start_trial()
    memo(double, data, times=5.0)
    assert gone() is not None
    memo.start_trial()
    memo(double, data, times=6.0)
    gc.collect()
    assert gone() is None
    assert len(memo) == 2
    assert memo.nbytes <= memo.max_bytes


def test_the_last_two_trials_keep_what_they_used_however_large():
    memo, data = Memo(max_bytes=0), np.ones(123)
    kept = memo(double, data)
    for times in (3.0, 4.0, 5.0):
        memo.start_trial()
        assert memo(double, data) is kept
        memo(double, data, times=times)
    assert len(memo) == 3


def test_bytes_of_an_array_that_stands_twice_count_once():
    array = np.zeros(9)
    assert count_bytes((array, {"same": array}, "text", None)) == array.nbytes
