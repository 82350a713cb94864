"""Zip files that mean harm or are damaged: nothing is written, everything left out is told."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest
from PIL import Image

from served import bundle, test_images, zerokin
from zerokin.app.archives import uploaded_images
from zerokin.app.batches import answer_batch
from zerokin.app.limits import Limits
from zerokin.app.refusals import TooLarge
from zerokin.app.service import Service
from zerokin.errors import InvalidInput
from zerokin.recognizer.answering import Question


def png(size=(8, 8), color="red"):
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return file.getvalue()


def zipped(path, members, **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content, **options)
    return [(path.name, path)]


def link(name):
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


def test_only_images_are_taken_and_the_rest_is_told(tmp_path):
    files = zipped(
        tmp_path / "a.zip",
        [
            ("garden/1.png", png()),
            ("2.JPG", png()),
            ("../3.png", png()),
            ("a/../../3.png", png()),
            ("/etc/4.png", png()),
            ("C:/5.png", png()),
            ("b\\..\\6.png", png()),
            (link("7.png"), "/etc/passwd"),
            ("notes.txt", b"text"),
            ("inner.zip", b"PK"),
            (".hidden.png", png()),
            ("__MACOSX/._1.png", b"x"),
            ("empty/", b""),
        ],
    )
    images, skipped = uploaded_images(files, Limits())
    assert list(images.names) == ["2.JPG", "garden/1.png"]
    told = {line.partition(": ")[0]: line for line in skipped}
    for name in ("../3.png", "a/../../3.png", "/etc/4.png", "C:/5.png"):
        assert "leads out" in told.pop(name)
    assert "link" in told.pop("7.png")
    assert "not an image" in told.pop("notes.txt")
    assert "zip file inside" in told.pop("inner.zip")
    assert all("6.png" in name for name in told)  # zipfile itself may turn its separators
    assert images.load(1).size == (8, 8)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_bomb_is_not_unpacked(tmp_path):
    limits = Limits(upload_bytes=10_000)
    files = zipped(tmp_path / "a.zip", [("1.png", bytes(10_000_000)), ("2.png", png())])
    images, skipped = uploaded_images(files, limits)
    assert list(images.names) == ["2.png"]
    assert "over the limit of 10,000 bytes" in skipped[0]


def test_a_size_that_is_a_lie_is_found_out(tmp_path):
    path = tmp_path / "a.zip"
    files = zipped(path, [("1.png", bytes(5_000_000))])
    content = path.read_bytes().replace(
        (5_000_000).to_bytes(4, "little"), (9).to_bytes(4, "little")
    )
    path.write_bytes(content)
    images, _ = uploaded_images(files, Limits(upload_bytes=10_000))
    with pytest.raises(InvalidInput):
        images.load(0)


def test_many_members_together_are_a_bomb_too(tmp_path):
    limits = Limits(upload_bytes=10_000, unpacked=2)
    files = zipped(tmp_path / "a.zip", [(f"{i}.png", bytes(9_000)) for i in range(4)])
    images, _ = uploaded_images(files, limits)
    lines = []
    for index in range(4):
        with pytest.raises(InvalidInput) as caught:
            images.load(index)
        lines.append("unpacks to more than 20,000 bytes" in str(caught.value))
    assert lines == [False, False, True, True]


def test_too_many_images_are_refused(tmp_path):
    files = zipped(tmp_path / "a.zip", [(f"{i}.png", png()) for i in range(4)])
    with pytest.raises(TooLarge, match="4 images, over the limit of 3"):
        uploaded_images(files, Limits(batch_images=3))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip file"])
def test_what_is_no_zip_file_is_said(tmp_path, content):
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"a\.zip cannot be read as a zip file"):
        uploaded_images([("a.zip", path)], Limits())


def test_damaged_members_are_told_and_the_others_answered(tmp_path):
    service = Service(bundle(tmp_path), device="cpu")
    path = tmp_path / "a.zip"
    good = test_images()[0].read_bytes()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("1.png", good)
        archive.writestr("2.png", b"no image")
        archive.writestr("3.png", good)
    content = bytearray(path.read_bytes())
    content[content.rindex(good) + 40] ^= 0xFF  # its checksum no longer fits
    path.write_bytes(content)
    batch = answer_batch(service, [("a.zip", path)], Question(k=1))
    assert [hasattr(one, "ranked") for one in batch.answers] == [True, False, False]
    assert "cannot be unpacked" in batch.answers[2].error
    assert service.in_hand == 0
    service.close()


def test_the_csv_is_the_command_lines(tmp_path):
    folder = bundle(tmp_path)
    images = tmp_path / "images"
    images.mkdir()
    names = []
    for number, file in enumerate(test_images()[:8]):
        names.append(f"{number}.png")
        (images / names[-1]).write_bytes(file.read_bytes())
    (images / "8.png").write_bytes(b"no image")
    names.append("8.png")
    archive = zipped(tmp_path / "a.zip", [(name, (images / name).read_bytes()) for name in names])
    said = zerokin("predict", folder, *names, "--csv", "-k", 3, cwd=images)
    service = Service(folder, device="cpu")
    by_zip = answer_batch(service, archive, Question(k=3))
    by_files = answer_batch(service, [(name, images / name) for name in names], Question(k=3))
    service.close()
    assert said.returncode == 1  # one image is none
    assert by_zip.csv == by_files.csv
    ours, theirs = by_zip.csv.splitlines(), said.stdout.splitlines()
    assert ours[:-1] == theirs[:-1]
    assert ours[-1].startswith("8.png,,")
    assert theirs[-1].startswith("8.png,,")
