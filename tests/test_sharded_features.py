"""Shards: read as one matrix, refused where one is missing, of another width or cut short."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from zerokin.data.sharded_features import ShardedFeatures, write_shards
from zerokin.errors import InvalidInput, ZerokinError


def drawn(seed, n=None):
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(23, 97))
    return rng, rng.normal(size=(n, int(rng.integers(3, 12)))).astype(np.float32)


@pytest.mark.parametrize("seed", range(5))
def test_shards_are_the_matrix_that_was_written(tmp_path, seed):
    rng, F = drawn(seed)
    cuts = np.sort(rng.integers(1, len(F), size=4))
    blocks = [part for part in np.split(F, cuts) if len(part)]
    rows = int(rng.integers(2, 40))
    assert write_shards(tmp_path / "f", blocks, rows=rows) == len(F)
    shards = ShardedFeatures(tmp_path / "f")
    assert shards.shape == F.shape
    assert len(shards.paths) == -(-len(F) // rows)
    assert np.array_equal(np.asarray(shards), F)
    index = rng.integers(-len(F), len(F), size=50)
    assert np.array_equal(shards[index], F[index])
    low, high = sorted(rng.integers(0, len(F), size=2))
    assert np.array_equal(shards[low:high], F[low:high])
    assert np.array_equal(shards[::3], F[::3])
    assert np.array_equal(shards[F[:, 0] > 0], F[F[:, 0] > 0])
    assert np.array_equal(shards[-1], F[-1])


def test_half_precision_is_widened_and_files_may_be_listed(tmp_path):
    _, F = drawn(7)
    write_shards(tmp_path / "f", [F], rows=11, dtype="float16")
    listed = ShardedFeatures(ShardedFeatures(tmp_path / "f").paths[::-1])
    assert listed.dtype == np.float32
    assert np.array_equal(listed[:3], ShardedFeatures(tmp_path / "f").shards[-1][:3])


def test_more_than_99999_shards_keep_their_order(tmp_path):
    for number in (1, 0):
        np.save(tmp_path / f"f-{number:06}-of-000002.npy", np.full((2, 3), number, np.float32))
    assert ShardedFeatures(tmp_path)[:][:, 0].tolist() == [0, 0, 1, 1]


def refused(source):
    with pytest.raises(ZerokinError) as caught:
        ShardedFeatures(source)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_shard_that_is_missing_is_named(tmp_path):
    write_shards(tmp_path / "f", [drawn(1, 40)[1]], rows=7)
    paths = ShardedFeatures(tmp_path / "f").paths
    paths[2].unlink()
    assert "lacks 2 of 6 shards (such as features-00002-of-00006.npy)" in refused(tmp_path / "f")
    assert "no feature file at " in refused(paths)
    assert "no folder of feature files" in refused(tmp_path / "g")
    (tmp_path / "empty").mkdir()
    assert "holds no feature files" in refused(tmp_path / "empty")


def test_a_shard_of_another_width_is_named(tmp_path):
    write_shards(tmp_path / "f", [np.ones((9, 5))], rows=4)
    last = ShardedFeatures(tmp_path / "f").paths[-1]
    np.save(last, np.ones((3, 6)))
    assert f"{last} has 6 columns, but " in refused(tmp_path / "f")


def test_a_truncated_shard_is_named(tmp_path):
    write_shards(tmp_path / "f", [np.ones((9, 5))], rows=4)
    second = ShardedFeatures(tmp_path / "f").paths[1]
    second.write_bytes(second.read_bytes()[:-1])
    assert f"{second} is truncated" in refused(tmp_path / "f")


def test_nothing_half_written_is_left_where_there_is_no_space(tmp_path):
    F = drawn(3, 90)[1]
    write_shards(tmp_path / "f", [F], rows=20)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (256, before[1]))
    try:
        with pytest.raises(InvalidInput, match=r"cannot write .*f: File too large"):
            write_shards(tmp_path / "f", [2 * F], rows=30)
        with pytest.raises(InvalidInput, match=r"cannot write .*g: File too large"):
            write_shards(tmp_path / "g", [2 * F], rows=30)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert np.array_equal(ShardedFeatures(tmp_path / "f")[:], F)


def test_what_cannot_be_shards_is_refused_before_anything_is_replaced(tmp_path):
    (tmp_path / "note.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInput, match="holds something else than shards"):
        write_shards(tmp_path, [np.ones((3, 2))])
    with pytest.raises(InvalidInput, match="row 3 has 4 features, but those before 2"):
        write_shards(tmp_path / "f", [np.ones((3, 2)), np.ones((3, 4))])
    with pytest.raises(InvalidInput, match="no features to write"):
        write_shards(tmp_path / "f", [])
    with pytest.raises(InvalidInput, match="features holds nan in row 1"):
        write_shards(tmp_path / "f", [np.array([[1.0], [np.nan]])])
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
