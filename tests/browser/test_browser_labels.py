"""The page of several labels in a real browser: boxes over the image, and a label for each."""

from __future__ import annotations

import pytest

from label_bundles import label_bundle, scene_files
from served import running
from zerokin.recognizer.label_recognizer import LabelRecognizer

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = label_bundle(tmp_path_factory.mktemp("labels"))
    with running(folder) as (address, _):
        yield address, folder


def drawn(visit):
    """The box of each number as the browser has laid it out, in shares of the image."""
    return visit.page.evaluate(
        """() => {
          const image = document.querySelector(".zk-found img").getBoundingClientRect()
          const numbers = [...document.querySelectorAll(".zk-box b")]
          numbers.sort((one, other) => one.innerText - other.innerText)
          return numbers.map(one => {
            const box = one.parentElement.getBoundingClientRect()
            return [(box.left - image.left) / image.width, (box.top - image.top) / image.height,
                    (box.right - image.left) / image.width, (box.bottom - image.top) / image.height]
          })
        }"""
    )


@pytest.mark.parametrize("visit", ["wide", "phone dark"], indirect=True)
def test_every_label_has_its_box_over_the_image(visit, served, screenshots):
    file = scene_files()[0]
    visit.page.set_input_files("#image input[type=file]", str(file))
    visit.page.wait_for_selector("#answer h2")
    visit.page.locator("#count").get_by_text("3", exact=True).click()
    visit.page.wait_for_selector("#answer h2:has-text('3 labels')")
    expected = LabelRecognizer.load(served[1], device="cpu").recognize(file, k=3)[0].labels
    names = visit.page.locator("#answer .zk-ranked th").all_inner_texts()
    assert names == [one.label for one in expected]
    assert visit.page.locator(".zk-found img").evaluate("image => image.naturalWidth") == 128
    for got, one in zip(drawn(visit), expected, strict=True):
        assert got == pytest.approx(one.box, abs=0.01)
    width = visit.page.viewport_size["width"]
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.page.screenshot(path=screenshots / f"labels-{width}.png", full_page=True)
    # Only classes that were never shown.
    visit.page.locator("#candidates").get_by_text("Never seen").click()
    visit.page.wait_for_function(
        """() => [...document.querySelectorAll("#answer .zk-role")]
                 .every(one => one.innerText.includes("unseen"))"""
    )
    assert visit.page.locator("#answer .zk-box.zk-unseen b").count() == 3


def test_what_is_no_image_is_said(visit, tmp_path):
    (tmp_path / "broken.png").write_bytes(scene_files()[0].read_bytes()[:99])
    visit.page.set_input_files("#image input[type=file]", str(tmp_path / "broken.png"))
    visit.page.wait_for_selector("#answer .zk-bad")
    assert "broken.png" in visit.page.inner_text("#answer")
