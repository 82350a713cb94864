"""The page in a real browser: an image, a new class, the hierarchy and a batch."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import urllib.request
import zipfile

import numpy as np
import pytest
from PIL import Image

from own_images import critters, images_of
from served import bundle, running, test_images, zerokin
from zerokin.recognizer import Recognizer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVIL = '<img src=x onerror=alert(1)> & "שלום"'


def upload(visit, file):
    visit.page.set_input_files("#image input[type=file]", str(file))
    visit.page.wait_for_selector("#answer h2")


def among_unseen(visit):
    visit.page.locator("#candidates").get_by_text("Never seen").click()


def forget(visit, beginning):
    visit.tab("New class")
    visit.page.click("#forget-name input")
    visit.page.keyboard.type(beginning)
    visit.page.keyboard.press("Enter")
    visit.page.click("#forget")
    visit.page.wait_for_selector("#added :text('is forgotten')")


def ranked(visit):
    return visit.page.locator("#answer .zk-ranked th").all_inner_texts()


def add_by_interface(address, name, vector):
    body = json.dumps({"name": name, "vector": vector}).encode()
    with urllib.request.urlopen(f"{address}/api/classes", body, timeout=60) as response:
        assert response.status == 201


@pytest.mark.parametrize("visit", ["wide", "phone"], indirect=True)
def test_a_image_is_uploaded_and_answered(visit, served, screenshots):
    file = test_images()[0]
    upload(visit, file)
    known = Recognizer.load(served[1], device="cpu")
    expected = known.recognize(file)[0]
    assert ranked(visit) == [one.name for one in expected.ranked]
    assert visit.page.inner_text("#answer h2") == expected.best.name
    assert visit.page.locator("#answer figure img").count() > 0
    assert visit.page.locator("#answer figure img").first.evaluate("image => image.naturalWidth")
    width = visit.page.viewport_size["width"]
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.page.screenshot(path=screenshots / f"image-{width}.png", full_page=True)
    # Hedging is on request alone.
    hedged = known.recognize(file, max_risk=0.3)[0].selective
    assert hedged.layer != 0
    assert not visit.page.locator("#image-risk").is_visible()
    visit.page.locator("#image-hedge input").check()
    visit.page.wait_for_selector("#answer p:has-text('30 %')")
    visit.page.locator("#image-risk").wait_for(state="visible")
    assert visit.page.inner_text("#answer h2") != expected.best.name


def test_what_is_no_image_is_said(visit, tmp_path):
    (tmp_path / "broken.png").write_bytes(test_images()[0].read_bytes()[:99])
    visit.page.set_input_files("#image input[type=file]", str(tmp_path / "broken.png"))
    visit.page.wait_for_selector("#answer .zk-bad")
    assert "broken.png" in visit.page.inner_text("#answer")


def test_a_class_is_added_recognised_and_forgotten(visit, served, screenshots):
    folder = served[1]
    visit.tab("New class")
    visit.page.fill("#new-name textarea, #new-name input", "my own critter")
    visit.page.click("#like input")
    visit.page.keyboard.type("plum mumbler")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#attributes :text('15 not 0')")
    visit.page.get_by_label("Find an attribute").fill("VIOLET")
    number = visit.page.get_by_label("number input for violet coat")
    number.fill("0.5")
    number.press("Tab")
    visit.page.screenshot(path=screenshots / "new-class.png", full_page=True)
    visit.page.click("#add")
    visit.page.wait_for_selector("#added .zk-good")
    known = Recognizer.load(folder, device="cpu").classes
    assert known.names[-1] == "my own critter"
    twin = known.vectors[known.index("plum mumbler")[0]]
    twin = np.where(np.array(known.attribute_names) == "coat::violet", 0.5, twin)
    assert known.vectors[-1] == pytest.approx(twin, abs=1e-6)
    visit.tab("Image")
    file = next(file for file in test_images() if file.parent.name == "plum mumbler")
    among_unseen(visit)
    upload(visit, file)
    expected = Recognizer.load(folder, device="cpu").recognize(file, candidates="unseen")[0]
    assert ranked(visit) == [one.name for one in expected.ranked]
    assert "my own critter" in ranked(visit)
    forget(visit, "my own")
    assert "my own critter" not in Recognizer.load(folder, device="cpu").classes.names


def test_a_class_is_added_by_three_images_and_recognised_at_once(visit, served, tmp_path):
    folder, files = served[1], []
    for number, image in enumerate(images_of(int(critters().unseen[5]), 5)):
        files.append(tmp_path / f"okapi-{number}.png")
        image.save(files[-1])
    visit.tab("New class")
    visit.page.fill("#new-name textarea, #new-name input", "okapi")
    visit.page.set_input_files("#new-examples input[type=file]", [str(f) for f in files[:3]])
    visit.page.wait_for_selector("#new-examples :text('okapi-2')")
    visit.page.wait_for_timeout(1500)
    visit.page.click("#add")
    visit.page.wait_for_selector("#added .zk-good")
    assert "by 3 examples" in visit.page.inner_text("#added")
    known = Recognizer.load(folder, device="cpu")
    assert known.shots["okapi"] == 3
    # The same prototype as from Python, so what is tested of that one holds here.
    by_python = Recognizer.undo(shutil.copytree(folder, tmp_path / "model"), device="cpu")
    by_python.add_class("okapi", images=[Image.open(f) for f in files[:3]])
    np.testing.assert_allclose(
        known.classifier.prototypes_, by_python.classifier.prototypes_, atol=1e-12
    )
    # A photo that was none of the three, among all classes.
    visit.tab("Image")
    upload(visit, files[4])
    assert visit.page.inner_text("#answer h2") == "okapi"
    assert ranked(visit) == [one.name for one in known.recognize(files[4])[0].ranked]
    forget(visit, "okapi")
    assert "okapi" not in Recognizer.load(folder, device="cpu").classes.names


def test_the_hierarchy_is_drawn_and_searched(visit, screenshots):
    visit.tab("Hierarchy")
    visit.page.wait_for_selector("#rings .sunburstlayer path.surface")
    sectors = visit.page.locator("#rings .sunburstlayer path.surface")
    before = sectors.evaluate_all("all => all.map(one => one.style.fill)")
    visit.page.click("#search input")
    visit.page.keyboard.type("plum mum")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#found strong")
    assert visit.page.inner_text("#found strong") == "plum mumbler"
    visit.page.wait_for_timeout(1500)
    after = sectors.evaluate_all("all => all.map(one => one.style.fill)")
    assert before != after
    assert len({*after} - {"rgb(237, 237, 237)"}) >= 2
    visit.page.screenshot(path=screenshots / "hierarchy.png", full_page=True)


def test_a_batch_gives_the_csv_of_the_command_line(visit, served, screenshots, tmp_path):
    names = [f"{number}.png" for number in range(6)]
    for name, file in zip(names, test_images(), strict=False):
        (tmp_path / name).write_bytes(file.read_bytes())
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name in names:
            archive.write(tmp_path / name, name)
        archive.writestr("../evil.png", b"x")
    visit.tab("Batch")
    visit.page.set_input_files("#files input[type=file]", str(tmp_path / "all.zip"))
    visit.page.wait_for_selector("#files :text('all')")
    visit.page.wait_for_timeout(1500)
    visit.page.click("#start")
    visit.page.wait_for_selector("#batch table")
    assert "../evil.png" in visit.page.inner_text("#batch .zk-skipped")
    visit.page.screenshot(path=screenshots / "batch.png", full_page=True)
    with visit.page.expect_download() as download:
        visit.page.click("#batch a.zk-button")
    download.value.save_as(tmp_path / "got.csv")
    said = zerokin("predict", served[1], *names, "--csv", cwd=tmp_path)
    assert said.returncode == 0
    assert (tmp_path / "got.csv").read_text(encoding="utf-8") == said.stdout
    assert len(list(csv.reader(io.StringIO(said.stdout)))) == 7


def test_html_in_a_name_is_shown_as_text(visit, served, screenshots):
    address, folder = served
    known = Recognizer.load(folder, device="cpu").classes
    file = next(file for file in test_images() if file.parent.name == "plum mumbler")
    add_by_interface(address, EVIL, known.vectors[known.index("plum mumbler")[0]].tolist())
    among_unseen(visit)
    upload(visit, file)
    assert EVIL in ranked(visit)
    assert visit.page.locator("img[src='x']").count() == 0
    visit.page.reload()
    visit.tab("Hierarchy")
    visit.page.wait_for_selector("#rings .sunburstlayer path.surface")
    visit.page.click("#search input")
    visit.page.keyboard.type("<img")
    visit.page.keyboard.press("Enter")
    visit.page.wait_for_selector("#found strong")
    assert visit.page.inner_text("#found strong") == EVIL
    visit.page.wait_for_timeout(1000)
    assert any(
        "<img src=x" in text for text in visit.page.locator("#rings text").all_text_contents()
    )
    visit.page.screenshot(path=screenshots / "html-in-a-name.png", full_page=True)
    assert visit.page.locator("img[src='x']").count() == 0


def test_a_password_is_taken_and_an_open_page_does_not_hold_the_server_up(chromium, tmp_path):
    with running(bundle(tmp_path), ZEROKIN_PASSWORD="ada:lovelace") as (address, process):
        known = {"username": "ada", "password": "lovelace"}
        with chromium.new_context(http_credentials=known) as context:
            page = context.new_page()
            page.goto(address)
            page.wait_for_selector("#answer p")
            page.set_input_files("#image input[type=file]", str(test_images()[0]))
            page.wait_for_selector("#answer h2")
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0
