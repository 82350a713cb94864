"""Word vectors trained on one's own text: skip-gram with negative sampling, as the paper's are."""

from __future__ import annotations

import os
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zerokin.errors import InvalidInput, MissingExtra, ZerokinWarning
from zerokin.files import replacing
from zerokin.parameters import PATH, SEED, Boolean, Integer, Optional, Ranges, check_arguments
from zerokin.semantics.corpus import Corpus, Documents
from zerokin.semantics.names import checked_names, name_words

_RANGES: Ranges = {
    "dimension": Integer(1, 100_000),
    **dict.fromkeys(
        ("window", "negative", "epochs", "min_count"),
        Integer(1, 1_000_000),
    ),
    "join_names": Boolean(),
    "binary": Optional(Boolean()),
    "seed": SEED,
    "workers": Integer(1, 1024),
    "quiet": Boolean(),
}


def train_skipgram(
    corpus: Documents,
    path: str | os.PathLike[str],
    *,
    dimension: int = 100,
    window: int = 5,
    negative: int = 5,
    epochs: int = 5,
    min_count: int = 5,
    class_names: Iterable[str] | None = None,
    join_names: bool = True,
    binary: bool | None = None,
    seed: int = 0,
    workers: int = 1,
    quiet: bool = False,
) -> Path:
    """Train skip-gram word vectors and write them in word2vec format, for `word_vectors` to read.

    The corpus is read as a stream, once to count its words and once per epoch. With one worker the
    same arguments give the same file, in every process; more are faster and never quite repeat.

    Parameters
    ----------
    corpus
        A text file with a document or sentence per line (gzip may have packed it), or an iterable
        of texts or of lists of words that can be gone through more than once.
        Words are put in lower case.
    path
        The file to write; it appears whole or not at all.
    dimension
        Length of the vectors.
    window
        Words this far to either side are a word's context.
    negative
        Random words drawn against each true context.
    epochs
        Times that training goes through the corpus.
    min_count
        Words that occur less often are left out, except words of class names.
    class_names
        Names whose words are kept however rare. Those with words that never occur are reported in
        one warning, before training starts.
    join_names
        Make a class name of several words one word (``"house finch"`` → ``house_finch``) if it
        occurs at least ``min_count`` times: a rarer one is better served by the mean of its words.
        This reads the corpus once more.
    binary
        Write word2vec's binary format; by default if ``path`` ends in ``.bin``.
    seed
        Seed of everything random.
    workers
        Threads that train.
    quiet
        Show no progress.

    Returns
    -------
    Path
        The file written.
    """
    check_arguments(
        _RANGES,
        dimension=dimension,
        window=window,
        negative=negative,
        epochs=epochs,
        min_count=min_count,
        join_names=join_names,
        binary=binary,
        seed=seed,
        workers=workers,
        quiet=quiet,
    )
    names = checked_names(() if class_names is None else class_names)
    if find_spec("gensim") is None:
        raise MissingExtra("training word vectors", "text")
    from gensim.models import Word2Vec

    if isinstance(corpus, str | os.PathLike):
        check_arguments({"corpus": PATH}, corpus=corpus)
    sentences = Corpus(corpus)
    if join_names and any(len(name_words(name)) > 1 for name in names):
        sentences = Corpus(corpus, phrases=_frequent(corpus, names, min_count))
    model = Word2Vec(
        vector_size=dimension,
        window=window,
        negative=negative,
        epochs=epochs,
        min_count=min_count,
        sg=1,
        seed=seed,
        workers=workers,
        # Python's own hash differs from one process to the next.
        hashfxn=_stable_hash,
    )
    wanted = {form for name in names for form in _forms(name)}
    model.build_vocab(sentences, trim_rule=_keeping(wanted))
    if not len(model.wv):
        raise InvalidInput(
            f"the corpus has no word that occurs {min_count} times: "
            "give more text or a lower min_count"
        )
    _report_absent(names, model.wv.key_to_index)
    model.train(
        _Passes(sentences, model.corpus_count, epochs, quiet=quiet),
        total_examples=model.corpus_count,
        total_words=model.corpus_total_words,
        epochs=epochs,
    )
    path = Path(path)
    with replacing(path) as temporary:
        as_binary = path.suffix == ".bin" if binary is None else binary
        model.wv.save_word2vec_format(str(temporary), binary=as_binary)
    return path


class _Passes:
    """A corpus that shows how far each pass over it has come."""

    def __init__(self, sentences: Corpus, total: int, epochs: int, *, quiet: bool) -> None:
        self._sentences = sentences
        self._total = total
        self._epochs = epochs
        self._quiet = quiet
        self._passed = 0

    def __iter__(self) -> Iterator[list[str]]:
        from zerokin.progress import track

        self._passed += 1
        stage = f"training word vectors, epoch {self._passed} of {self._epochs}, sentences"
        yield from track(self._sentences, stage, total=self._total, quiet=self._quiet)


def _frequent(corpus: Documents, names: list[str], min_count: int) -> list[str]:
    """Return the names that a corpus has, joined, at least so many times."""
    joined = {name: _forms(name)[-1] for name in names}
    wanted = set(joined.values())
    sentences = Corpus(corpus, phrases=names)
    counts = Counter(word for sentence in sentences for word in sentence if word in wanted)
    return [name for name in names if counts[joined[name]] >= min_count]


def _stable_hash(text: str) -> int:
    return zlib.crc32(text.encode())


def _forms(name: str) -> list[str]:
    words = name_words(name.lower())
    return [*words, "_".join(words)]


def _keeping(wanted: set[str]) -> Any:
    """Make gensim's rule that keeps the wanted words however rare they are."""
    from gensim.utils import RULE_DEFAULT, RULE_KEEP

    def rule(word: str, _count: int, _min_count: int) -> Any:
        return RULE_KEEP if word in wanted else RULE_DEFAULT

    return rule


def _report_absent(names: list[str], vocabulary: dict[str, int]) -> None:
    absent = {
        name: [word for word in name_words(name.lower()) if word not in vocabulary]
        for name in names
        if _forms(name)[-1] not in vocabulary
    }
    reports = [f"{name!r} ({', '.join(words)})" for name, words in absent.items() if words]
    if reports:
        warnings.warn(
            f"words of class names that never occur in the corpus: {', '.join(reports)}",
            ZerokinWarning,
            stacklevel=3,
        )
