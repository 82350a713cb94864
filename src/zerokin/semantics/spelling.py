"""Near spellings of a few words, found among millions in passing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

#: Below this many letters, two slips make a different word.
_SHORT = 5
_KEPT = 3


class NearSpellings:
    """Collects, from words offered one by one, those within an edit or two of the ones asked for.

    By symmetric deletion: words one edit apart share what is left after deleting at most one letter
    of each. The words asked for are entered with up to two letters deleted; of an offered word only
    single deletions are looked up, a handful of lookups whatever the number of words asked for. So
    every word one edit away is found (of two letters or more), and of those two edits away the ones
    that need no second deletion in the offered word.

    Parameters
    ----------
    words
        The words asked for, in lower case.

    Examples
    --------
    >>> near = NearSpellings(["zebra"])
    >>> for word in ["the", "Zebras", "cobra", "zerba", "zbr"]:
    ...     near.offer(word.lower(), word)
    >>> near.find("zebra")
    ['Zebras', 'zerba', 'zbr']
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._asked_with: defaultdict[str, set[str]] = defaultdict(set)
        self._near: dict[str, list[tuple[int, int, str]]] = {word: [] for word in words}
        self._lengths: Counter[int] = Counter()
        self._offered = 0
        for word in self._near:
            for key in _keys(word):
                self._asked_with[key].add(word)
            self._lengths.update(_lengths(word))

    def discard(self, word: str) -> None:
        """Stop looking for near spellings of a word: it has been found itself."""
        if self._near.pop(word, None) is None:
            return
        for key in _keys(word):
            self._asked_with[key].discard(word)
            if not self._asked_with[key]:
                del self._asked_with[key]
        self._lengths -= Counter(_lengths(word))

    def offer(self, folded: str, spelling: str) -> None:
        """Consider a word: in lower case as ``folded``, to be shown as ``spelling``."""
        # Phrases are many, and no slip makes one of a word.
        if len(folded) not in self._lengths or "_" in folded:
            return
        asked_with = self._asked_with
        hits = [key for key in (folded, *_deletions(folded)) if key in asked_with]
        for word in {word for key in hits for word in asked_with[key]}:
            distance = edit_distance(word, folded)
            near = self._near[word]
            known = any(spelling.lower() == kept.lower() for _, _, kept in near)
            if 0 < distance <= _slips(word) and not known:
                self._offered += 1
                near.append((distance, self._offered, spelling))
                near.sort()
                del near[_KEPT:]

    def find(self, word: str) -> list[str]:
        """Return up to three near spellings of a word asked for, the nearest first."""
        return [spelling for _, _, spelling in self._near.get(word, [])]


def edit_distance(one: str, other: str) -> int:
    """Count the insertions, deletions, substitutions and swaps of neighbors between two words.

    Examples
    --------
    >>> edit_distance("zebra", "zerba"), edit_distance("whale", "while"), edit_distance("", "ox")
    (1, 1, 2)
    """
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        row = [i + 1]
        for j, target in enumerate(other):
            best = min(above[j + 1] + 1, row[j] + 1, above[j] + (letter != target))
            if i and j and letter == other[j - 1] and one[i - 1] == target:
                best = min(best, before[j - 1] + 1)
            row.append(best)
        before, above = above, row
    return above[-1]


def _keys(word: str) -> set[str]:
    """Return what can be left of a word after as many deletions as it may have slips."""
    left = {word}
    for _ in range(_slips(word)):
        left |= {shorter for longer in left for shorter in _deletions(longer)}
    return left - {""}


def _lengths(word: str) -> range:
    return range(len(word) - _slips(word), len(word) + 2)


def _slips(word: str) -> int:
    return 1 if len(word) < _SHORT else 2


def _deletions(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(len(word))]
