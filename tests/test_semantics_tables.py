"""Small tables of class vectors."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from zerokin.errors import InvalidInput, MissingFile
from zerokin.semantics import unit_rows, vector_table


@pytest.mark.parametrize(
    "text",
    [
        "wnid,a,b\nn1,1,2.5\nn2,-3e-1,4\n",
        "\ufeffwnid,a,b\r\nn1,1,2.5\r\n\r\nn2,-3e-1,4\r\n",
        'a,wnid,b\n1,"n1",2.5\n-0.3, n2 ,4',
        "wnid,0,1\nn1,1,2.5\nn2,-0.3,4\n",
        "wnid a b\nn1 1 2.5\nn2 -0.3 4\n",
        "n1\t1\t2.5\nn2\t-0.3\t4\n",
        "n1 1 2.5\n\n  n2   -0.3 4  \n",
    ],
)
def test_tables_in_every_form_read_alike(tmp_path, text):
    path = tmp_path / "table"
    path.write_text(text, encoding="utf-8", newline="")
    keys, vectors = vector_table(path)
    assert keys == ["n1", "n2"]
    np.testing.assert_array_equal(vectors, [[1, 2.5], [-0.3, 4]])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("wnid,a\n", "no class vectors"),
        ("wnid\nn1\n", "line 1: a key and at least one number"),
        ("wnid,a,b\nn1,1,2\nn2,1\n", "line 3: 2 columns where line 1 has 3"),
        ("n1 1 2\nn2 1 2 3\n", "line 2: 4 columns where line 1 has 3"),
        ("wnid,a,b\nn1,1,2\n\nn2,1,NaN\n", r"line 4 \(n2\): 'NaN' is not a finite number"),
        ("wnid,a,b\nn1,1,inf\n", "'inf' is not a finite number"),
        ("wnid,a,b\nn1,1,\n", "'' is not a finite number"),
        ("wnid,name,b\nn1,owl,3\n", "'owl' is not a finite number"),
        ("wnid,a\nn1,1\nn2,2\nn1,3\n", "line 4: 'n1' is already on line 2"),
        ("wnid,a\n,1\n", "line 2: no wnid"),
        ("name,a\nowl,1\n", "no column 'wnid'.*the first is 'name'"),
        ("WNID,a\nn1,1\n", "did you mean 'WNID'"),
        ("name a\nowl 1\n", "no column 'wnid'"),
        ('wnid,a\n"n1,1\n', "not CSV"),
    ],
)
def test_faults_are_told_by_line(tmp_path, text, said):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=said) as caught:
        vector_table(path)
    assert str(path) in str(caught.value)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(MissingFile, match="no table of class vectors"):
        vector_table(tmp_path / "none.csv")
    with pytest.raises(InvalidInput, match="is a folder"):
        vector_table(tmp_path)
    (tmp_path / "array.npy").write_bytes(b"\x93NUMPY\xff\xff")
    with pytest.raises(InvalidInput, match="not UTF-8"):
        vector_table(tmp_path / "array.npy")


def test_the_real_table_of_mini_imagenet(real_data):
    path = real_data / "mini-imagenet" / "word_vectors.csv"
    keys, vectors = vector_table(path, key="wnid")
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert keys == [row["wnid"] for row in rows]
    assert vectors.shape == (100, 100)
    np.testing.assert_array_equal(vectors[:, 99], [float(row["d99"]) for row in rows])
    np.testing.assert_allclose(np.linalg.norm(unit_rows(vectors, keys), axis=1), 1)
