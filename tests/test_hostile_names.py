"""Names and tables made to do harm work everywhere, or are refused in one line."""

from __future__ import annotations

import numpy as np
import pytest

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, write_own_folder
from hostile_files import refused
from zerokin.data.readers.tables import read_table
from zerokin.errors import InvalidInput, ZerokinError, did_you_mean, shown
from zerokin.hierarchy.taxonomy_csv import read_taxonomy_csv

NAMES = {
    "separators": "a/b\\c",
    "upwards": "../../outside",
    "absolute": "/outside",
    "dots": "..",
    "HTML": "<script>alert(1)</script>",
    "quotes": "\"a\", 'b' & c",
    "right to left": "\u05d0\u05d5\u05e7\u05e4\u05d9",
    "override": "\u202eipako",
    "newline": "two\nlines",
    "carriage return": "two\rlines",
    "NUL": "a\0b",
    "last NUL": "a\0",
    "escape": "\x1b[31mred",
    "long": "long " * 2000,
    "formula": "=1+1",
    "astral": "\U0001f98c",
}


@pytest.mark.parametrize("kind", NAMES)
def test_a_strange_class_name_works_everywhere_or_is_refused_in_one_line(tmp_path, kind):
    name = NAMES[kind]
    quoted = name.replace('"', '""')
    table = f'{OWN_TABLE}"{quoted}",unseen,0.5,0.5\n'
    folder = write_own_folder(tmp_path / "in" / "data", table, OWN_IMAGES)
    if kind in ("newline", "carriage return", "NUL", "last NUL", "escape", "long"):
        line = "row 7: .*" + ("at most 200" if kind == "long" else "control character")
        with pytest.raises(ZerokinError, match=line) as error:
            zerokin.load_dataset(f"folder={folder}")
        refused(error)
        return
    dataset = zerokin.load_dataset(f"folder={folder}")
    assert dataset.classes.names[-1] == name.strip()
    names, Z = list(dataset.classes.names), dataset.classes.semantics
    tree = zerokin.ClassHierarchy.from_semantics(Z, names=names)
    tree.save(tmp_path / "in" / "tree.json")
    assert zerokin.ClassHierarchy.load(tmp_path / "in" / "tree.json").names == tree.names
    rng = np.random.default_rng(0)
    y = np.repeat(names[:4], 5)
    X = rng.normal(size=(20, 8))
    table_of = dict(zip(names, Z, strict=True))
    model = zerokin.ZeroShotClassifier().fit(X, y, semantics=table_of, hierarchy=tree)
    model.save(tmp_path / "in" / "model")
    loaded = zerokin.ZeroShotClassifier.load(tmp_path / "in" / "model")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert set(loaded.predict(X)) <= {"bee", name.strip()}
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_message_is_one_line_whatever_it_quotes():
    text = str(InvalidInput(f"unknown class {NAMES['newline']} {NAMES['escape']} \u202e \ud800"))
    assert text == "unknown class two\\nlines \\x1b[31mred \\u202e \\ud800"
    assert len(str(InvalidInput("x" * 10**6))) < 2100
    assert did_you_mean({"not": "a word"}, ["a"]) == ""
    assert shown(0x10**9000) == "a number of thousands of digits"


def test_a_line_break_inside_quotes_is_part_of_the_value(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_bytes(b'name,note\r\nokapi,"two\r\nlines"\rzebra,"a\xe2\x80\xa8b"\n')
    rows = read_table(path, ["name"])
    assert [row["note"] for row in rows] == ["two\r\nlines", "a\u2028b"]


@pytest.mark.parametrize(
    "line", [b"x" * 10_000_000, b"a," * 5_000_000, b'"' + b"x" * 10_000_000], ids=[0, 1, 2]
)
def test_a_table_of_one_line_of_ten_megabytes(tmp_path, line):
    path = tmp_path / "classes.csv"
    path.write_bytes(line)
    for read in (lambda: read_table(path, ["name"]), lambda: read_taxonomy_csv(path)):
        with pytest.raises(InvalidInput) as error:
            read()
        assert "classes.csv" in refused(error)


def test_a_table_of_many_columns_of_one_name(tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("name," + "a," * 100_000 + "b\n")
    with pytest.raises(InvalidInput, match="more than once"):
        read_table(path, ["name"])
