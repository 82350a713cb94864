"""Word vectors trained on small corpora."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from zerokin.errors import InvalidInput, MissingExtra, MissingFile, ZerokinWarning
from zerokin.semantics import train_skipgram, unit_rows, word_vectors
from zerokin.semantics.corpus import Corpus

SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture(scope="module")
def toy_corpus(tmp_path_factory):
    """Text in which birds share one set of contexts, and whales another."""
    random = np.random.default_rng(0)
    worlds = [
        (["sparrow", "robin", "House Finch"], ["tree", "nest", "wing", "feather", "sings", "seed"]),
        (["orca", "beluga", "narwhal"], ["sea", "deep", "fin", "swims", "ice", "krill"]),
    ]
    lines = []
    for _ in range(600):
        animals, contexts = worlds[random.integers(2)]
        around = random.choice(contexts, 4)
        lines.append(f"{around[0]} {around[1]} {random.choice(animals)}, {around[2]} {around[3]}.")
    path = tmp_path_factory.mktemp("corpus") / "toy.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(autouse=True, scope="module")
def _needs_gensim():
    pytest.importorskip("gensim")


NAMES = ["sparrow", "robin", "house+finch", "orca", "beluga", "narwhal"]


def test_trained_words_of_shared_contexts_end_near_each_other(toy_corpus, tmp_path):
    options = {"dimension": 16, "epochs": 60, "quiet": True}
    path = train_skipgram(toy_corpus, tmp_path / "toy", class_names=NAMES, **options)
    units = unit_rows(word_vectors(NAMES, path), NAMES)
    cosines = units @ units.T
    pairs = np.triu_indices(3, 1)
    within = np.concatenate([cosines[:3, :3][pairs], cosines[3:, 3:][pairs]])
    assert within.min() > cosines[:3, 3:].max() + 0.2


@pytest.mark.parametrize("name", ["toy.vec", "toy.bin"])
def test_what_was_trained_is_read_back_as_gensim_does(toy_corpus, tmp_path, name):
    models = pytest.importorskip("gensim.models")
    path = train_skipgram(toy_corpus, tmp_path / "new" / name, dimension=7, epochs=1, quiet=True)
    binary = name.endswith(".bin")
    keyed = models.KeyedVectors.load_word2vec_format(str(path), binary=binary)
    assert keyed.vector_size == 7
    assert "finch" in keyed.index_to_key
    words = keyed.index_to_key
    np.testing.assert_allclose(word_vectors(words, path), keyed[words], rtol=1e-6)
    assert [file.name for file in path.parent.iterdir()] == [name]


def test_training_is_skip_gram_with_negative_sampling(toy_corpus, tmp_path):
    models = pytest.importorskip("gensim.models")
    options = {"window": 2, "negative": 3, "epochs": 2, "min_count": 4, "seed": 9}
    path = train_skipgram(toy_corpus, tmp_path / "toy.bin", dimension=6, quiet=True, **options)
    text = toy_corpus.read_text().lower().replace(",", "").replace(".", "")
    tokens = [line.split() for line in text.split("\n")]
    reference = models.Word2Vec(tokens, sg=1, hs=0, vector_size=6, workers=1, **options).wv
    words = reference.index_to_key
    np.testing.assert_array_equal(word_vectors(words, path), reference[words])


def test_training_gives_the_same_file_in_every_process(toy_corpus, tmp_path):
    script = (
        "import sys; from zerokin.semantics import train_skipgram; "
        "train_skipgram(*sys.argv[1:3], dimension=8, epochs=2, seed=5, quiet=True)"
    )
    running = []
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(SOURCE)}
        command = [sys.executable, "-c", script, str(toy_corpus), str(tmp_path / hash_seed)]
        running.append(subprocess.Popen(command, env=environment))
    assert [process.wait() for process in running] == [0, 0]
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    other = train_skipgram(toy_corpus, tmp_path / "3", dimension=8, epochs=2, seed=6, quiet=True)
    assert other.read_bytes() != (tmp_path / "1").read_bytes()


def test_training_reads_packed_files_and_lists_alike(toy_corpus, tmp_path):
    packed = tmp_path / "toy.txt.gz"
    packed.write_bytes(gzip.compress(toy_corpus.read_bytes()))
    lines = toy_corpus.read_text().split("\n")
    tokens = [line.replace(",", "").replace(".", "").split() for line in lines]
    written = [
        train_skipgram(corpus, tmp_path / "out.vec", dimension=4, epochs=1, quiet=True).read_bytes()
        for corpus in (toy_corpus, str(packed), lines, tokens)
    ]
    assert written == written[:1] * 4


def test_trained_names_keep_rare_words_and_absent_ones_are_reported_together(toy_corpus, tmp_path):
    lines = [*toy_corpus.read_text().split("\n"), "a rare Dodo", "a Great Auk"]
    path = tmp_path / "toy.vec"
    names = ["dodo", "great_auk", "robin", "moa", "Elephant Bird"]
    with pytest.warns(ZerokinWarning) as caught:
        train_skipgram(lines, path, dimension=4, epochs=1, class_names=names, quiet=True)
    [warning] = caught
    assert "'moa' (moa), 'Elephant Bird' (elephant, bird)" in str(warning.message)
    assert "dodo" not in str(warning.message)
    assert "auk" not in str(warning.message)
    word_vectors(["dodo", "great_auk"], path)
    with pytest.raises(InvalidInput, match="rare"):
        word_vectors(["rare"], path)


def test_training_joins_names_that_are_frequent_enough(toy_corpus, tmp_path):
    lines = [*toy_corpus.read_text().split("\n"), *["a great auk"] * 4]
    options = {
        "dimension": 4,
        "epochs": 1,
        "quiet": True,
        "class_names": ["House-Finch", "Great_Auk"],
    }
    path = train_skipgram(lines, tmp_path / "joined", **options)
    words = {line.split()[0] for line in path.read_text().splitlines()[1:]}
    assert {"house_finch", "great", "auk"} < words
    # Every finch of the corpus is a house finch; four great auks are fewer than min_count.
    assert not {"house", "finch", "great_auk"} & words
    path = train_skipgram(lines, tmp_path / "apart", join_names=False, **options)
    words = {line.split()[0] for line in path.read_text().splitlines()[1:]}
    assert {"house", "finch", "great", "auk"} < words
    assert "house_finch" not in words


def test_failed_training_leaves_the_old_file(toy_corpus, tmp_path, monkeypatch):
    keyed = pytest.importorskip("gensim.models.keyedvectors").KeyedVectors
    path = tmp_path / "toy.vec"
    path.write_text("old")

    def fails(self, name, **kwargs):
        Path(name).write_text("half")
        raise RuntimeError("disk full")

    monkeypatch.setattr(keyed, "save_word2vec_format", fails)
    with pytest.raises(RuntimeError, match="disk full"):
        train_skipgram(toy_corpus, path, dimension=4, epochs=1, quiet=True)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == {"toy.vec": "old"}


@pytest.mark.parametrize(
    ("corpus", "options", "said"),
    [
        (["a b"], {"dimension": 0}, "dimension must be a whole number from 1 to 100,000: got 0"),
        (["a b"], {"negative": 0}, "negative must be a whole number from 1 to 1,000,000: got 0"),
        (["a b"], {"epochs": -1}, "epochs must be a whole number from 1 to 1,000,000: got -1"),
        (["a b"], {}, "no word that occurs 5 times"),
        ([], {"min_count": 1}, "no word that occurs 1 times"),
        ((line for line in ["a b"]), {}, "only once"),
        (["a b"], {"class_names": "owl"}, "not the one text"),
        (Path(__file__).parent, {}, "is a folder"),
    ],
)
def test_what_cannot_be_trained_is_refused(tmp_path, corpus, options, said):
    with pytest.raises(InvalidInput, match=said):
        train_skipgram(corpus, tmp_path / "out.vec", quiet=True, **options)
    assert not list(tmp_path.iterdir())


def test_absent_corpora_and_parts_are_named(toy_corpus, tmp_path, monkeypatch):
    with pytest.raises(MissingFile, match="no corpus at"):
        Corpus(tmp_path / "none.txt")
    (tmp_path / "half.gz").write_bytes(gzip.compress(b"words " * 1000)[:-9])
    with pytest.raises(InvalidInput, match="damaged gzip"):
        list(Corpus(tmp_path / "half.gz"))
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(MissingExtra, match=r"pip install 'zerokin\[text\]'"):
        train_skipgram(toy_corpus, tmp_path / "out.vec")


def test_the_longest_name_is_joined():
    phrases = ["house finch", "House", "purple_house_finch", "house finch nest", "black-footed cat"]
    text = "Purple house finch; a house; house FINCH in a house finch nest. A black-footed cat!"
    [words] = Corpus([text], phrases=phrases)
    joined = "purple_house_finch a house house_finch in a house_finch_nest a black_footed_cat"
    assert " ".join(words) == joined


def test_long_documents_are_cut_where_gensim_would_drop_their_ends():
    words = [f"w{i}" for i in range(25_000)]
    sentences = list(Corpus([" ".join(words)]))
    assert [len(sentence) for sentence in sentences] == [10_000, 10_000, 5_000]
    assert [word for sentence in sentences for word in sentence] == words


def test_a_corpus_on_one_line_is_read_in_pieces(tmp_path):
    path = tmp_path / "one-line.txt"
    count = 400_000
    path.write_text("albatross " * count)
    read = 0
    tracemalloc.start()
    try:
        for sentence in Corpus(path):
            assert set(sentence) == {"albatross"}
            read += len(sentence)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == count
    # A list of all words is 25 MiB; a piece of the line and its words are 4.
    assert peak < 8 << 20
