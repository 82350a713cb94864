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


def test_bytes_are_those_of_the_results_that_are_kept():
    """A bound of three results: each further trial drops the oldest, and the count stays true."""
    rng = np.random.default_rng(3)
    data = rng.normal(size=int(rng.integers(50, 90)))
    memo = Memo(max_bytes=3 * data.nbytes)
    assert (memo.nbytes, len(memo)) == (0, 0)
    for trial in range(9):
        memo.start_trial()
        memo(double, data, times=float(trial))
        kept = min(trial + 1, 3)  # as much as the bound allows, and no less
        assert (len(memo), memo.nbytes) == (kept, kept * data.nbytes)
    calls = []

    def noted(array, times):
        calls.append(times)
        return array * times

    for times in (1.0, 2.0, 3.0, 1.0, 4.0, 1.0, 2.0):
        memo.start_trial()
        memo(noted, data, times)
    # 1.0 was used in between, so that 2.0 was the one to go.
    assert calls == [1.0, 2.0, 3.0, 4.0, 2.0]


def test_what_was_made_of_a_dropped_result_goes_with_it():
    """By position or by name, at any depth; what was made of something else stays."""

    def add(array, *, other):
        return array + other

    data, more = np.ones(301), np.zeros(301)
    memo = Memo(max_bytes=5 * data.nbytes)
    first = memo(double, data)
    second = memo(add, more, other=first)
    memo(double, second, times=7.0)
    memo(double, more, times=5.0)
    memo.start_trial()
    memo(double, more, times=5.0)  # used again, and so kept
    memo.start_trial()
    memo.start_trial()
    memo(double, more, times=8.0)
    assert len(memo) == 5
    memo(double, more, times=9.0)
    assert len(memo) == 3
    assert memo.nbytes == 3 * data.nbytes
    assert memo(add, more, other=first) is not second


def test_plain_results_hold_on_to_nothing():
    """Equal numbers as result and as argument are not the same thing."""

    def count(array):
        return len(array)

    data, large = np.ones(7), np.ones(400)
    memo = Memo(max_bytes=large.nbytes)
    memo(count, data)
    other = memo(double, large, times=7)
    memo.start_trial()
    assert memo(double, large, times=7) is other
    memo.start_trial()
    memo.start_trial()
    assert memo(double, large, times=7) is other
    memo(double, large, times=8)  # over the bound: the count is the oldest and goes, alone
    assert len(memo) == 2


def test_bytes_are_found_inside_whatever_holds_them():
    class Held:
        def __init__(self, inside):
            self.inside = inside

    one, other = np.zeros(5), np.zeros((3, 2), dtype=np.float32)
    nested = Held([{"a": one}, (other, Held(one))])
    nested.itself = nested
    assert count_bytes(nested) == one.nbytes + other.nbytes
    assert count_bytes([3, "text", 2.5, True, None]) == 0


def test_what_a_result_caches_later_counts_from_the_next_trial_on():
    class Growing:
        def __init__(self, array):
            self.array = array

    data = np.ones(700)
    memo = Memo(max_bytes=3 * data.nbytes)
    memo.start_trial()
    grown = memo(Growing, data)
    assert memo.nbytes == data.nbytes
    grown.cached = np.ones(1400)
    memo.start_trial()
    assert memo.nbytes == 3 * data.nbytes
    memo.start_trial()
    memo(double, data)
    assert memo(Growing, data) is not grown  # the bound holds for what it caches, too
    assert memo.nbytes == 2 * data.nbytes


def test_a_result_made_of_the_oldest_is_returned_although_both_are_dropped():
    memo = Memo(max_bytes=500)
    old = memo(np.zeros, 61)
    for _ in range(3):
        memo.start_trial()
    assert len(memo(np.copy, old)) == 61
    assert (len(memo), memo.nbytes) == (0, 0)
    memo.start_trial()
    assert len(memo(np.copy, old)) == 61
