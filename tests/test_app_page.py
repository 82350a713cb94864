"""What the tabs show, without a browser: against the recognizer, and always as text."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

pytest.importorskip("gradio")
pytest.importorskip("plotly")

from served import bundle, test_images
from zerokin.app.answer_html import answer_html, percent
from zerokin.app.attribute_editor import attribute_values, edited_attributes
from zerokin.app.batch_tab import named_batch
from zerokin.app.class_tab import added, removed
from zerokin.app.hedging import accepted_risk
from zerokin.app.hierarchy_tab import path_html
from zerokin.app.image_tab import named_image
from zerokin.app.page import page, title_html
from zerokin.app.service import Service
from zerokin.app.sunburst import rings, sunburst
from zerokin.errors import InvalidInput
from zerokin.hierarchy.naming import tidy_attribute
from zerokin.recognizer import ImageAnswer, Recognizer
from zerokin.recognizer.image_answer import Kin, RankedClass, SelectiveAnswer, Superclass

EVIL = '<script>alert("x")</script>"\'&‮'


@pytest.fixture
def service(tmp_path):
    service = Service(bundle(tmp_path), device="cpu")
    yield service
    service.close()


class Text(HTMLParser):
    """Tags and visible text of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, _):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += data


def test_a_image_is_named_as_by_the_recogniser(service):
    file = test_images()[1]
    html = named_image(service, str(file), "All", 1.0, 0.0)
    expected = service.recognizer.recognize(file, max_risk=1.0)[0]
    shown = re.findall(r'<th scope="row"><bdi>(.*?)</bdi>', html)
    assert [unescape(name) for name in shown] == [one.name for one in expected.ranked]
    assert f"<h2><bdi>{expected.best.name}</bdi></h2>" in html
    for step in expected.superclasses:
        assert step.name in Text(html).text
    assert html.count("<img ") == sum(min(2, len(kin.examples)) for kin in expected.kin)


def test_leaning_changes_the_answer_as_the_recogniser_says(service):
    file = test_images()[0]
    for bias in (-0.3, 0.3):
        expected = service.recognizer.recognize(file, max_risk=1.0, unseen_bias=bias)[0]
        html = named_image(service, str(file), "All", 1.0, bias)
        assert f'<th scope="row"><bdi>{expected.best.name}</bdi>' in html


def test_hedged_answers_and_none_of_these_are_said_plainly():
    best = RankedClass("okapi", 0.2, 0.4, seen=False)
    hedged = SelectiveAnswer("hoofed", 1, 0.9, 0.1)
    steps = (Superclass("hoofed", 1, 0.9),)
    html = answer_html(ImageAnswer("a", (best,), steps, hedged), max_risk=0.2)
    assert "Some kind of “hoofed”" in Text(html).text
    assert "20 % you accept" in Text(html).text
    anything = SelectiveAnswer("anything", 2, 1.0, 0.0)
    html = answer_html(ImageAnswer("a", (best,), steps, anything), max_risk=0.2)
    assert "Not sure" in Text(html).text
    none = SelectiveAnswer("none of these", None, None, None)
    odd = ImageAnswer("a", (best,), steps, none, out_of_distribution=True)
    html = answer_html(odd, max_risk=0.2)
    assert "<h2>None of these</h2>" in html
    assert "okapi" in Text(html).text


def test_the_class_is_the_headline_unless_hedging_is_asked_for(service):
    best = RankedClass("okapi", 0.2, 0.04, seen=False)
    odd = ImageAnswer("a", (best,), out_of_distribution=True)
    html = answer_html(odd, max_risk=None)
    assert "<h2><bdi>okapi</bdi></h2>" in html
    assert "Like nothing it knows: maybe none of these." in Text(html).text
    config = page(service).get_config_file()
    props = {part["props"].get("elem_id"): part["props"] for part in config["components"]}
    for tab in ("image", "batch"):
        assert props[f"{tab}-hedge"]["value"] is False
        assert props[f"{tab}-risk"]["visible"] is False
    file = test_images()[2]
    html = named_image(service, str(file), "All", accepted_risk(False, 0.0), 0.0)
    first = service.recognizer.recognize(file)[0].best.name
    assert f"<h2><bdi>{first}</bdi></h2>" in html
    html = named_image(service, str(file), "All", accepted_risk(True, 0.0), 0.0)
    hedged = service.recognizer.recognize(file, max_risk=0.0)[0].selective
    assert hedged.layer != 0
    assert f"<h2><bdi>{first}</bdi></h2>" not in html


def test_a_batch_hedges_as_the_recognizer_does(service):
    files = test_images()[:3]
    for risk in (None, 0.0, 1.0):
        html = named_batch(service, [str(file) for file in files], "All", 1, risk)
        cells = re.findall(r"</bdi></td><td><bdi>(.*?)</bdi>", html)
        expected = service.recognizer.recognize(files, max_risk=risk)
        assert [unescape(cell) for cell in cells] == [one.name for one in expected]


def test_names_are_text_wherever_they_stand(service):
    answer = ImageAnswer(
        EVIL,
        (RankedClass(EVIL, 0.1, 0.3, seen=True),),
        (Superclass(EVIL, 1, 0.5),),
        SelectiveAnswer(EVIL, 1, 0.5, 0.1),
        (Kin(EVIL, 0.5, (b"jpeg",)),),
    )
    for html in (answer_html(answer, max_risk=0.5), answer_html(answer, max_risk=None)):
        assert "script" not in Text(html).tags
        assert EVIL in Text(html).text
    said = added(service, EVIL, attributes={"legs::six": 1.0})
    assert EVIL in Text(said).text
    assert "script" not in Text(said).tags
    found = path_html(service, EVIL)
    assert EVIL in Text(found).text
    assert "script" not in Text(found).tags
    label = str(sunburst(service.recognizer, EVIL).data[0].labels)
    assert "<script" not in label
    assert "&lt;script" in label
    assert "script" not in Text(removed(service, EVIL)).tags


def test_bad_input_is_a_line_not_an_error(service, tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    assert "cannot be decoded" in named_image(service, str(tmp_path / "a.png"), "All", 0.3, 0)
    assert "Drop an image" in named_image(service, None, "All", 0.3, 0)
    assert "needs a name" in added(service, "", attributes={"legs::six": 1.0})
    assert "not all 0" in added(service, "x", attributes={"legs::six": 0.0})
    assert "numbers" in added(service, "x", vector="1 2 z")
    assert "Choose a class" in removed(service, None)
    assert "Choose first" in named_batch(service, None, "All", 1)
    (tmp_path / "a.zip").write_bytes(b"x")
    assert "cannot be read" in named_batch(service, [str(tmp_path / "a.zip")], "All", 1)


def test_a_class_is_added_like_another_and_forgotten(service):
    values = attribute_values(service.recognizer, "plum mumbler")
    own = service.recognizer.classes.index("plum mumbler")[0]
    assert list(values.values()) == service.recognizer.classes.vectors[own].tolist()
    assert "is known from now on: 14 classes" in added(service, "twin", attributes=values)
    assert "4 it never saw" in Text(title_html(service)).text
    names = Recognizer.load(service.folder, device="cpu").classes.names
    assert names[-1] == "twin"
    assert "is forgotten: 13 classes" in removed(service, "twin")


def test_a_class_is_added_by_uploaded_examples(service, tmp_path):
    files = [str(file) for file in test_images()[:3]]
    zeros = attribute_values(service.recognizer, None)
    said = added(service, "newt", attributes=zeros, paths=files[:2])
    assert "known from now on, by 2 examples: 14 classes" in said
    assert not service.recognizer.classes.vectors[-1].any()
    like = attribute_values(service.recognizer, "plum mumbler")
    assert "by 3 examples" in added(service, " newt ", attributes=like, paths=files[2:])
    assert not service.recognizer.classes.vectors[-1].any()
    assert "by 1 example:" in added(service, "eft", attributes=like, paths=files[:1])
    assert service.recognizer.classes.vectors[-1].any()
    assert Recognizer.load(service.folder, device="cpu").shots == {"newt": 3, "eft": 1}
    (tmp_path / "notes.txt").write_text("no image", encoding="utf-8")
    (tmp_path / "broken.png").write_bytes(b"no image")
    for name, line in [("notes.txt", "not an image"), ("broken.png", "cannot be decoded")]:
        said = added(service, "eft", paths=[files[0], str(tmp_path / name)])
        assert "zk-bad" in said
        assert line in said
        assert "no image was added" in said
        assert str(tmp_path) not in said
    assert service.recognizer.shots == {"newt": 3, "eft": 1}
    assert "is forgotten" in removed(service, "newt")
    assert "is forgotten" in removed(service, "eft")


def test_the_editor_has_all_attributes_and_takes_a_number_for_each(service):
    names = list(service.recognizer.classes.attribute_names)
    blocks = page(service)
    editor = next(one for one in blocks.blocks.values() if one.elem_id == "attributes")
    assert editor.props["attributes"] == [tidy_attribute(name) for name in names]
    assert editor.value == [0.0] * len(names)
    assert editor.props["average"] == pytest.approx(service.recognizer.classes.vectors.mean(axis=0))
    assert not any(name in editor.html_template for name in editor.props["attributes"])
    given = [float(i) for i in range(len(names))]
    assert edited_attributes(names, given) == dict(zip(names, given, strict=True))
    for wrong in (given[1:], [*given, 1.0], None, "1"):
        with pytest.raises(InvalidInput, match="load it again"):
            edited_attributes(names, wrong)


def test_seen_and_unseen_are_told_by_words_and_marks(service):
    ranked = (
        RankedClass("okapi", 0.2, 0.4, seen=False),
        RankedClass("zebra", 0.1, 0.3, seen=True),
        RankedClass("quagga", 0.1, 0.2, seen=False, shots=3),
    )
    html = answer_html(ImageAnswer("a", ranked), max_risk=None)
    cells = re.findall(r'<td class="zk-role">(.*?)</td>', html)
    assert [Text(cell).text for cell in cells] == ["★unseen", "●seen", "★3 shots"]
    known = service.recognizer
    for name, seen in zip(known.classes.names, known.seen, strict=True):
        said = Text(path_html(service, name)).text
        assert said.endswith(f"{name} {'●seen' if seen else '★never seen'}")
    part = sunburst(known).data[0]
    told = dict(
        zip(part.ids, zip(part.labels, part.marker.pattern.shape, strict=True), strict=True)
    )
    for i, seen in enumerate(known.seen):
        label, shape = told[f"0.{i}"]
        assert label.startswith("★ ") is not bool(seen)
        assert (shape == "/") is not bool(seen)


def test_the_rings_hold_every_class_once_and_parents_hold_their_children(service):
    ids, labels, parents, values, _ = rings(service.recognizer)
    assert len(set(ids)) == len(ids)
    assert sorted(name for i, name in zip(ids, labels, strict=True) if i[:2] == "0.") == sorted(
        service.recognizer.classes.names
    )
    below = dict.fromkeys(ids, 0)
    for parent, value in zip(parents, values, strict=True):
        if parent:
            below[parent] += value
    for one, value in zip(ids, values, strict=True):
        assert below[one] in (0, value)


def test_finding_a_class_colors_its_path_alone(service):
    tree, name = service.recognizer.hierarchy, "plum mumbler"
    position = service.recognizer.classes.names.index(name)
    ids, _, _, _, colors = rings(service.recognizer, name)
    path = {f"{layer}.{tree.labels(layer)[position]}" for layer in range(tree.n_layers + 1)}
    strong = {one for one, c in zip(ids[1:], colors[1:], strict=True) if c != "#EDEDED"}
    assert strong == path


@pytest.mark.parametrize("kind", ["attributes", "text", "vector"])
@pytest.mark.parametrize("read_only", [False, True])
def test_the_page_is_laid_out_for_every_kind_of_class(service, monkeypatch, kind, read_only):
    monkeypatch.setattr("zerokin.app.class_tab.known_by", lambda _: kind)
    service.read_only = read_only
    config = page(service).get_config_file()
    ids = {part["props"].get("elem_id"): part["props"] for part in config["components"]}
    assert ids["add"]["interactive"] is not read_only
    assert ("new-words" in ids) == (kind != "attributes")
    assert ("like" in ids) == (kind == "attributes")
    assert not any(call["api_visibility"] == "public" for call in config["dependencies"])


@pytest.mark.parametrize(
    ("share", "said"), [(0.5, "50 %"), (1.0, "100 %"), (0.999, "> 99 %"), (0.001, "< 1 %")]
)
def test_percent(share, said):
    assert percent(share) == said
