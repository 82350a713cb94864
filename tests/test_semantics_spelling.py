"""Near spellings against brute force."""

from __future__ import annotations

from functools import cache
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from zerokin.semantics.names import name_words, phrase_forms, plain_name
from zerokin.semantics.spelling import NearSpellings, edit_distance

WORDS = st.text("abc", min_size=1, max_size=7)


def recursive_distance(one: str, other: str) -> int:
    @cache
    def of(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        ways = [of(i - 1, j) + 1, of(i, j - 1) + 1, of(i - 1, j - 1) + (one[i - 1] != other[j - 1])]
        if i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]:
            ways.append(of(i - 2, j - 2) + 1)
        return min(ways)

    return of(len(one), len(other))


@given(WORDS, WORDS)
def test_edit_distance_is_that_of_its_definition(one, other):
    assert edit_distance(one, other) == recursive_distance(one, other)


def test_every_spelling_one_edit_away_is_found():
    for length in range(1, 7):
        vocabulary = ["".join(letters) for letters in product("ab", repeat=length)]
        for word in ("abab", "aabba", "ba"):
            expected = {other for other in vocabulary if recursive_distance(word, other) == 1}
            for other in vocabulary:
                near = NearSpellings([word])
                near.offer(other, other)
                found = near.find(word) == [other]
                assert found or other not in expected
                assert not found or 1 <= recursive_distance(word, other) <= 2


def test_the_nearest_come_first_and_the_earlier_of_equals():
    near = NearSpellings(["albatross", "gull"])
    for word in ["albatrs", "Albatros", "albatroz", "albatrosss", "ALBATROS", "gul", "gulls"]:
        near.offer(word.lower(), word)
    assert near.find("albatross") == ["Albatros", "albatrosss", "albatrs"]
    assert near.find("gull") == ["gul", "gulls"]


def test_words_found_are_looked_for_no_more():
    near = NearSpellings(["gull", "gulf"])
    near.discard("gull")
    near.discard("unheard")
    near.offer("gul", "gul")
    assert near.find("gull") == []
    assert near.find("gulf") == ["gul"]


def test_short_words_allow_one_slip():
    near = NearSpellings(["bat"])
    for word in ["b", "at", "bats", "boat", "but"]:
        near.offer(word, word)
    assert near.find("bat") == ["at", "bats", "boat"]


def test_names_of_the_data_sets_are_split_into_words():
    names = [
        "black+bear",
        "Black_footed_Albatross",
        "001.Black_footed_Albatross",
        "house finch",
        "temple_south_asia",
        "3.5_inch_floppy",
        "  12. Red-winged__Blackbird ",
    ]
    assert [name_words(name) for name in names] == [
        ["black", "bear"],
        ["Black", "footed", "Albatross"],
        ["Black", "footed", "Albatross"],
        ["house", "finch"],
        ["temple", "south", "asia"],
        ["3.5", "inch", "floppy"],
        ["Red", "winged", "Blackbird"],
    ]
    assert plain_name(names[-1]) == "Red-winged Blackbird"
    assert phrase_forms("t-shirt") == ["t-shirt", "t_shirt", "t shirt"]
