"""Archives made to do harm end in one clear line, or do none."""

from __future__ import annotations

import gzip
import tarfile
import zipfile

import pytest

from builders import image_bytes
from hostile_files import peak, refused, write_tar
from zerokin.data.images import open_tars
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.semantics.word_vectors import word_vectors

TAR_KINDS = {
    "symlink": tarfile.SYMTYPE,
    "hard link": tarfile.LNKTYPE,
    "character device": tarfile.CHRTYPE,
    "block device": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
}


@pytest.mark.parametrize("kind", TAR_KINDS)
def test_only_files_of_a_tar_are_images(tmp_path, kind):
    write_tar(
        tmp_path / "x.tar",
        ("a/link.png", TAR_KINDS[kind], b""),
        ("a/1.png", tarfile.REGTYPE, image_bytes()),
    )
    found = open_tars([tmp_path / "x.tar"])
    assert list(found.names) == ["a/1.png"]
    assert found.load(0).size == (40, 30)


@pytest.mark.parametrize("name", ["../../out.png", "/out.png", "a/../../out.png"])
def test_a_tar_is_read_in_place_whatever_its_names_say(tmp_path, name):
    (tmp_path / "in").mkdir()
    write_tar(tmp_path / "in" / "x.tar", (name, tarfile.REGTYPE, image_bytes()))
    found = open_tars([tmp_path / "in" / "x.tar"])
    assert found.load(0).size == (40, 30)
    found.sha256()
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "x.tar"]


def test_a_name_in_a_tar_that_is_no_utf_8_has_a_hash_too(tmp_path):
    write_tar(tmp_path / "x.tar", ("a/\udcff.png", tarfile.REGTYPE, image_bytes()))
    assert len(open_tars([tmp_path / "x.tar"]).sha256()) == 64


@pytest.mark.parametrize("size", [2**63, 2**40, -1])
def test_a_tar_member_that_claims_more_than_there_is(tmp_path, size):
    info = tarfile.TarInfo("a/1.png")
    info.size = size
    path = tmp_path / "x.tar"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))
    before = peak()
    with pytest.raises(ZerokinError):  # noqa: PT012
        found = open_tars([path])
        found.load(0)
    assert peak() - before < 100 << 20


def test_zip_files_with_bombs_links_and_paths_that_lead_out(tmp_path):
    from zerokin.app.archives import uploaded_images
    from zerokin.app.limits import Limits

    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("../out.png", "/out.png", "..\\out.png", "C:\\out.png"):
            archive.writestr(name, image_bytes())
        link = zipfile.ZipInfo("link.png")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("bomb.png", bytes(100 << 20))
        archive.writestr("good.png", image_bytes())
    found, left_out = uploaded_images([("x.zip", path)], Limits())
    assert list(found.names) == ["good.png"]
    assert found.load(0).size == (40, 30)
    assert len(left_out) == 6
    assert [file.name for file in tmp_path.rglob("*")] == ["x.zip"]


def test_a_packed_file_of_word_vectors_is_not_unpacked_whole(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes(300 << 20), 9))
    before = peak()
    with pytest.raises(InvalidInput) as error:
        word_vectors(["okapi"], tmp_path / "x.gz")
    refused(error)
    assert peak() - before < 150 << 20


@pytest.mark.parametrize("head", [b"9" * 5000 + b" 3", b"3 " + b"9" * 5000, b"3 99999999999"])
def test_word_vectors_that_announce_too_much(tmp_path, head):
    (tmp_path / "x.vec").write_bytes(head + b"\nokapi 1 2 3\n")
    with pytest.raises(InvalidInput, match=r"x\.vec") as error:
        word_vectors(["okapi"], tmp_path / "x.vec")
    refused(error)
