"""Vectors of class names, looked up in files of word vectors."""

from __future__ import annotations

import gzip
import struct
import tracemalloc

import numpy as np
import pytest

from zerokin.errors import InvalidInput, MissingFile
from zerokin.semantics import word_vectors

VOCABULARY = {
    "the": [0.125, -1.5, 3.0],
    "black": [1.0, 0.0, 2.0],
    "bear": [0.0, 4.0, -2.0],
    "polar_bear": [9.0, 9.0, 9.5],
    "house": [1.0, 1.0, 1.0],
    "finch": [3.0, -1.0, 0.0],
    "été": [7.0, 0.5, 0.25],
}


def as_text(vocabulary, *, header=True, end="\n"):
    rows = [" ".join([word, *map(str, vector)]) for word, vector in vocabulary.items()]
    head = [f"{len(vocabulary)} 3"] if header else []
    return "".join(row + end for row in head + rows).encode()


def as_binary(vocabulary, *, after=b""):
    data = f"{len(vocabulary)} 3\n".encode()
    for word, vector in vocabulary.items():
        data += word.encode() + b" " + struct.pack("<3f", *vector) + after
    return data


FORMATS = {
    "word2vec text": as_text(VOCABULARY),
    "word2vec text as the original program ends its lines": as_text(VOCABULARY, end=" \n"),
    "word2vec text from Windows": as_text(VOCABULARY, end="\r\n"),
    "glove": as_text(VOCABULARY, header=False),
    "word2vec binary": as_binary(VOCABULARY),
    "word2vec binary as the original program ends its vectors": as_binary(VOCABULARY, after=b"\n"),
    "word2vec text, packed": gzip.compress(as_text(VOCABULARY), mtime=0),
    "glove, packed": gzip.compress(as_text(VOCABULARY, header=False), mtime=0),
    "word2vec binary, packed": gzip.compress(as_binary(VOCABULARY), mtime=0),
}


@pytest.fixture
def saved(tmp_path):
    def save(data, name="vectors.dat"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return save


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_is_recognised_by_its_content(saved, format_):
    vectors = word_vectors(["finch", "été", "the"], saved(FORMATS[format_]))
    expected = [VOCABULARY["finch"], VOCABULARY["été"], VOCABULARY["the"]]
    np.testing.assert_array_equal(vectors, expected)
    assert vectors.dtype == np.float64


@pytest.mark.parametrize(("binary", "header"), [(False, True), (False, False), (True, True)])
def test_vectors_are_those_gensim_reads(tmp_path, binary, header):
    gensim = pytest.importorskip("gensim.models")
    random = np.random.default_rng(3)
    words = [f"word{i}" for i in range(300)]
    keyed = gensim.KeyedVectors(vector_size=40)
    keyed.add_vectors(words, random.normal(size=(300, 40)).astype(np.float32))
    path = tmp_path / "vectors"
    keyed.save_word2vec_format(str(path), binary=binary, write_header=header)
    read = gensim.KeyedVectors.load_word2vec_format(str(path), binary=binary, no_header=not header)
    asked = words[::-7]
    np.testing.assert_allclose(word_vectors(asked, path), [read[word] for word in asked], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("black+bear", ["black", "bear"]),
        ("black_bear", ["black", "bear"]),
        ("Black-Bear", ["black", "bear"]),
        ("017.Black_bear", ["black", "bear"]),
        ("house finch", ["house", "finch"]),
        ("bear bear house", ["bear", "bear", "house"]),
        ("polar+bear", ["polar_bear"]),
        ("Polar bear", ["polar_bear"]),
        ("3.Polar-Bear", ["polar_bear"]),
        ("E\u0301te\u0301", ["été"]),  # accents apart, as some file systems spell names
    ],
)
def test_names_are_looked_up_whole_and_then_by_their_words(saved, name, words):
    expected = sum(np.array(VOCABULARY[word]) for word in words) / len(words)
    np.testing.assert_allclose(word_vectors([name], saved(FORMATS["glove"]))[0], expected)


@pytest.mark.parametrize(
    ("name", "row"),
    [("turkey", 1), ("Turkey", 0), ("TURKEY", 1), ("Ibis", 2), ("new york", 4), ("new-york", 5)],
)
def test_case_as_written_comes_first_then_lower_case_then_the_first(saved, name, row):
    words = ["Turkey", "turkey", "IBIS", "iBiS", "New_York", "new-york"]
    text = "".join(f"{word} {index} 1\n" for index, word in enumerate(words))
    assert word_vectors([name], saved(text.encode()))[0, 0] == row


def test_of_a_repeated_word_the_first_vector_counts(saved):
    assert word_vectors(["owl"], saved(b"owl 1 2\nbat 3 4\nowl 5 6\n")).tolist() == [[1, 2]]


def test_words_that_are_not_utf8_or_hold_blanks_do_no_harm(saved):
    data = b"bat 1 2\n\xff\xfe 3 4\n. . . 5 6\na\xc2\xa0b 7 8\nowl  9   10\n\nemu\t11\t12\n"
    vectors = word_vectors(["bat", "owl", "emu"], saved(data))
    assert vectors.tolist() == [[1, 2], [9, 10], [11, 12]]


def test_all_classes_with_missing_words_are_listed_with_near_spellings(saved):
    path = saved(as_text(VOCABULARY))
    with pytest.raises(InvalidInput) as caught:
        word_vectors(["blak bear", "komondor", "Hosue_fnch", "house"], path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    assert "3 classes" in message
    assert "'blak bear' (blak, near 'black')" in message
    assert "'komondor' (komondor)" in message
    assert "'Hosue_fnch' (Hosue, near 'house'; fnch, near 'finch')" in message
    assert "skip-word" in message


def test_skipping_words_averages_the_others_and_fails_only_without_any(saved):
    path = saved(as_text(VOCABULARY))
    vectors = word_vectors(["unheard black bear", "finch"], path, missing="skip-word")
    expected = [(np.array(VOCABULARY["black"]) + VOCABULARY["bear"]) / 2, VOCABULARY["finch"]]
    np.testing.assert_allclose(vectors, expected)
    with pytest.raises(InvalidInput, match=r"1 class: 'komondor dog' \(komondor; dog\)"):
        word_vectors(["komondor dog", "finch", "old house"], path, missing="skip-word")


def test_other_words_can_stand_in_for_a_name(saved):
    path = saved(as_text(VOCABULARY))
    vectors = word_vectors(["komondor", "finch"], path, instead={"komondor": "black bear"})
    np.testing.assert_array_equal(vectors, word_vectors(["black bear", "finch"], path))
    with pytest.raises(InvalidInput, match="'komondr'; did you mean 'komondor'"):
        word_vectors(["komondor"], path, instead={"komondr": "finch"})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"owl 1 2 3\nbat 1 2\n", "line 2: 2 numbers where the file has 3"),
        (b"owl 1 2 3\n\nbat 1 2 3 4\n", "line 3: 4 numbers where the file has 3"),
        (b"2 3\nowl 1 2\nbat 1 2 3\n", "line 2: 2 numbers where the file has 3"),
        (b"owl 1 x 3\n", "line 1: 'owl 1 x 3' is no header"),
        (b"owl\n", "line 1: 'owl' is no header"),
        (b"bat 1 2\nowl 1 x\n", r"line 2 \('owl'\): 'x' is not a number"),
        (b"bat 1 2\nowl 1 1_000\n", r"line 2 \('owl'\): '1_000' is not a number"),
        (b"bat 1 2\nowl nan 2\n", r"line 2 \('owl'\): holds NaN"),
        (b"3 2\nbat 1 2\nowl 3 4\n", "ends after 2 of 3 words"),
        (b"3 0\nbat\n", "3 words of dimension 0"),
        (b"0 3\n", "0 words of dimension 3"),
        (b"2 2\nowl " + struct.pack("<2f", 1, np.inf) + b"bat " + bytes(8), r"word 1 \('owl'\)"),
        (as_binary(VOCABULARY)[:-1], "breaks off in word 7 of 7"),
        (as_binary(VOCABULARY)[:60], "breaks off in word 4 of 7"),
        (as_binary(VOCABULARY) + b"more", "goes on after the 7 words"),
        (gzip.compress(as_text(VOCABULARY), mtime=0)[:-12], "damaged gzip"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0" + bytes(99), r"fastText .*\.vec"),
        (b"PK\x03\x04" + bytes(99), "unpack it"),
        (b"\x80\x04\x95" + bytes(99), "pickle"),
    ],
)
def test_malformed_files_are_told_by_file_and_line(saved, data, said):
    path = saved(data)
    with pytest.raises(InvalidInput, match=said) as caught:
        word_vectors(["owl"], path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_that_cannot_be_meant_are_refused(saved, tmp_path):
    path = saved(as_text(VOCABULARY))
    with pytest.raises(MissingFile, match=r"nowhere\.txt"):
        word_vectors(["owl"], tmp_path / "nowhere.txt")
    with pytest.raises(InvalidInput, match="is a folder"):
        word_vectors(["owl"], tmp_path)
    with pytest.raises(InvalidInput, match="not the one text 'owl'"):
        word_vectors("owl", path)
    with pytest.raises(InvalidInput, match=r"class 1 has no word in its name: '002\._'"):
        word_vectors(["owl", "002._"], path)
    with pytest.raises(InvalidInput, match=r"missing='skip-words'.*did you mean 'skip-word'"):
        word_vectors(["owl"], path, missing="skip-words")


@pytest.mark.parametrize("binary", [False, True])
def test_memory_does_not_grow_with_the_vocabulary(tmp_path, binary):
    words, dimension = 60_000, 128
    numbers = struct.pack("<128f", *range(dimension))
    if not binary:
        numbers = (" ".join(f"{i:.6f}" for i in range(dimension)) + "\n").encode()
    path = tmp_path / "many"
    with path.open("wb") as file:
        file.write(f"{words} {dimension}\n".encode())
        names = {5: b"whale", 1_000: b"finch", 20_000: b"zebra"}
        file.writelines(names.get(i, b"w%d" % i) + b" " + numbers for i in range(words))
    tracemalloc.start()
    try:
        vectors = word_vectors(["zebra", "whale", "finch"], path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(vectors, np.tile(np.arange(128.0), (3, 1)))
    # The vectors are 29 MiB and a dictionary of the words is 6; a block of the file is one.
    assert path.stat().st_size > 29 << 20
    assert peak < 6 << 20
