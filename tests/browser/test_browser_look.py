"""How the page looks in a real browser: light, dark and on a phone; what stands in every tab."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import Visit
from served import running, test_images
from zerokin.classifiers import ZeroShotClassifier
from zerokin.data import ClassTable
from zerokin.recognizer import Recognizer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TABS = ("Image", "New class", "Hierarchy", "Batch")
EVIL = "{{value}} ${document.title = 1} <b>x</b>"

# Every text that is shown with its contrast to what lies behind it (WCAG 2.2, 1.4.3).
CONTRASTS = """() => {
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) =>
    top.slice(0, 3).map((one, i) => one * top[3] + below[i] * (1 - top[3]));
  const light = (color) => {
    const [r, g, b] = color.map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = (element) => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.backgroundImage !== "none") return null;
      layers.push(parse(style.backgroundColor));
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    const shown = { visibilityProperty: true, opacityProperty: true };
    if (!text || !element.checkVisibility(shown)) continue;
    if (element.closest("svg, script, style, [disabled]")) continue;
    const below = ground(element);
    if (!below) continue;
    const color = over(parse(getComputedStyle(element).color), below);
    const pair = [light(color), light(below)];
    found.push([text.slice(0, 40), Math.max(...pair) / Math.min(...pair)]);
  }
  return found;
}"""


def walk(visit):
    """Yield every tab once something stands in it."""
    page = visit.page
    page.set_input_files("#image input[type=file]", str(test_images()[0]))
    page.wait_for_selector("#answer h2")
    page.wait_for_timeout(700)
    yield "Image"
    visit.tab("New class")
    page.click("#like input")
    page.keyboard.type("plum mumbler")
    page.keyboard.press("Enter")
    page.wait_for_selector("#attributes :text('15 not 0')")
    yield "New class"
    visit.tab("Hierarchy")
    page.wait_for_selector("#rings .sunburstlayer path.surface")
    page.click("#search input")
    page.keyboard.type("plum mum")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found strong")
    page.wait_for_timeout(1200)
    yield "Hierarchy"
    visit.tab("Batch")
    for _ in range(3):  # a tab that has just opened may not take files yet
        page.wait_for_timeout(1000)
        page.set_input_files("#files input[type=file]", [str(one) for one in test_images()[:3]])
        page.wait_for_timeout(4000)
        if page.locator("#files :text('0.png')").count():
            break
    page.wait_for_timeout(1000)
    page.click("#start")
    page.wait_for_selector("#batch table")
    yield "Batch"


@pytest.mark.parametrize(
    "visit", ["wide light", "wide dark", "phone light", "phone dark"], indirect=True
)
def test_every_tab_can_be_read_and_fits(request, visit, screenshots):
    kind = request.node.callspec.params["visit"].replace(" ", "-")
    dark = kind.endswith("dark")
    seen = []
    for tab in walk(visit):
        seen.append(tab)
        shown = visit.page.evaluate(CONTRASTS)
        assert len(shown) > 15, tab
        assert [one for one in shown if one[1] < 4.5] == [], tab
        ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, ground[4:-1].split(", ")[:3])) < 3 * 60) is dark
        assert visit.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        name = tab.lower().replace(" ", "-")
        visit.page.screenshot(path=screenshots / f"{kind}-{name}.png", full_page=True)
    assert tuple(seen) == TABS


@pytest.mark.parametrize("visit", ["wide", "phone"], indirect=True)
def test_seen_and_unseen_are_told_without_colors(visit, served):
    visit.page.set_input_files("#image input[type=file]", str(test_images()[0]))
    visit.page.wait_for_selector("#answer h2")
    answer = Recognizer.load(served[1], device="cpu").recognize(test_images()[0])[0]
    assert {one.seen for one in answer.ranked} == {True, False}
    roles = visit.page.locator("#answer .zk-role")
    assert all(one.is_visible() for one in roles.all())
    told = [" ".join(text.split()) for text in roles.all_inner_texts()]
    assert told == ["●seen" if one.seen else "★unseen" for one in answer.ranked]
    bars = visit.page.locator("#answer .zk-bar span").evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundImage !== 'none')"
    )
    assert bars == [not one.seen for one in answer.ranked]
    visit.tab("Hierarchy")
    visit.page.wait_for_selector("#rings .sunburstlayer path.surface")
    assert visit.page.locator("#path :text('★ never seen')").is_visible()
    names = visit.page.locator("#rings .sunburstlayer text").all_text_contents()
    marked = {name.removeprefix("★ ") for name in names if name.startswith("★ ")}
    known = Recognizer.load(served[1], device="cpu")
    unseen = [n for n, seen in zip(known.classes.names, known.seen, strict=True) if not seen]
    assert set(unseen) <= marked
    assert not marked & {n for n in known.classes.names if n not in unseen}


def write_bundle_of_many_attributes(folder):
    rng = np.random.default_rng(5)
    names = tuple(f"critter {number}" for number in range(9))
    attributes = (*(f"trait_{number}::strong" for number in range(311)), EVIL)
    vectors = rng.random((9, 312)).round(3)
    y = np.repeat(names[:6], 7)
    X = rng.standard_normal((42, 13)) + np.repeat(vectors[:6, :13], 7, axis=0)
    semantics = dict(zip(names, vectors, strict=True))
    model = ZeroShotClassifier(seen_penalty=0.0).fit(X, y, semantics=semantics)
    Recognizer(None, model, ClassTable(names, vectors, attribute_names=attributes)).save(folder)
    return attributes


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_all_of_three_hundred_attributes_can_be_set(chromium, tmp_path, size):
    attributes = write_bundle_of_many_attributes(tmp_path / "model")
    with running(tmp_path / "model") as (address, _):
        visit = Visit(chromium, address, size)
        page = visit.page
        visit.tab("New class")
        page.fill("#new-name textarea, #new-name input", "moth")
        editor = page.locator("#attributes")
        assert editor.locator("li").count() == 312
        find = page.get_by_label("Find an attribute")
        find.fill("trait 310")
        assert editor.locator("li:visible").count() == 1
        assert editor.get_by_role("status").inner_text() == "1 of 312 attributes, 0 not 0"
        number = page.get_by_label("number input for strong trait 310")
        number.fill("0.731")
        find.fill("${document")
        page.get_by_label(EVIL).first.focus()
        page.keyboard.press("End")
        find.fill("no such thing")
        assert "no attribute" in editor.get_by_role("status").inner_text()
        find.fill("")
        assert editor.locator("li:visible").count() == 312
        assert editor.get_by_role("status").inner_text() == "312 attributes, 2 not 0"
        # The list scrolls by itself: its last row can be reached, and the page stays as wide.
        editor.locator("li").last.scroll_into_view_if_needed()
        assert editor.locator("li").last.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.click("#add")
        page.wait_for_selector("#added .zk-good")
        assert page.title() == "zerokin"
        assert editor.locator("b").count() == 0
        assert (visit.elsewhere(), visit.errors) == ([], [])
        page.close()
    own = Recognizer.load(tmp_path / "model").classes
    assert own.names[-1] == "moth"
    set_to = {name: value for name, value in zip(attributes, own.vectors[-1], strict=True) if value}
    assert set_to == pytest.approx(
        {"trait_310::strong": 0.731, EVIL: own.vectors[:9].max()}, rel=0.01
    )
