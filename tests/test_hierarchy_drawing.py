"""Images and text: everything is there, in its color, and names do not cover one another."""

from __future__ import annotations

import io
import subprocess
import sys
from math import atan2, hypot, pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Wedge
from matplotlib.text import Text
from PIL import Image
from rich.console import Console

from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.report import (
    draw_sunburst,
    draw_tree,
    draw_tsne,
    figures,
    sunburst_figure,
    tree_figure,
    tree_text,
    tsne_figure,
)
from zerokin.report.figures import SEEN, UNSEEN

DRAW = {"tree": draw_tree, "sunburst": draw_sunburst, "tsne": draw_tsne}
MODULE = {"tree": tree_figure, "sunburst": sunburst_figure, "tsne": tsne_figure}


def made_up(n: int, *, named: bool = True) -> tuple[ClassHierarchy, np.ndarray]:
    rng = np.random.default_rng(n)
    names = [f"{'long ' * (i % 4)}name {i}" for i in range(n)]
    tree = ClassHierarchy.from_semantics(rng.normal(size=(n, 6)), 3, names=names)
    if named:
        tree = tree.named_by(["wings", "stripes", "hooves", "fur", "horns", "lives in water"])
    return tree, np.arange(n) % 4 == 0


def figure_of(kind: str, monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> Figure:
    caught: list[Figure] = []
    monkeypatch.setattr(MODULE[kind], "write_figure", lambda figure, _: caught.append(figure))
    DRAW[kind](args[0], "unused.png", *args[1:], **options)
    return caught[0]


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.axes[0].texts if text.get_text()]


@pytest.mark.parametrize("kind", DRAW)
def test_images_are_written_by_suffix_and_repeat(tmp_path: Path, kind: str) -> None:
    tree, unseen = made_up(20)
    for suffix in ("png", "SVG"):
        for name in ("one", "two"):
            DRAW[kind](tree, tmp_path / f"{name}.{suffix}", unseen)
        first, second = ((tmp_path / f"{n}.{suffix}").read_bytes() for n in ("one", "two"))
        assert first == second
    with Image.open(tmp_path / "one.png") as image:
        assert image.format == "PNG"
        assert min(image.size) > 300
        assert len(image.convert("RGB").getcolors(2**24)) > 20
    assert b"<svg" in (tmp_path / "one.SVG").read_bytes()
    assert len(list(tmp_path.iterdir())) == 4  # nothing temporary is left


@pytest.mark.parametrize("kind", DRAW)
@pytest.mark.parametrize("name", ["tree.pdf", "tree", "tree.jpg"])
def test_other_suffixes_are_refused(tmp_path: Path, kind: str, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"must end in \.png or \.svg"):
        DRAW[kind](made_up(20)[0], tmp_path / name)


@pytest.mark.parametrize("n", [60, 200])
@pytest.mark.parametrize("named", [False, True])
def test_tree_names_every_class_and_node_apart(
    monkeypatch: pytest.MonkeyPatch, n: int, named: bool
) -> None:
    tree, unseen = made_up(n, named=named)
    figure = figure_of("tree", monkeypatch, tree, unseen)
    shown = {text.get_text(): text for text in texts(figure)}
    for name, is_unseen in zip(tree.names, unseen, strict=True):
        assert to_hex(shown[name].get_color()).upper() == (UNSEEN if is_unseen else SEEN)
        assert shown[name].get_fontsize() >= 6.5
    if named:
        names = {name for layer in (1, 2) for name in tree.node_names(layer)}
        assert all(tree_figure.shown(name, most=48) in shown for name in names)
    boxes = np.array([text.get_window_extent().extents for text in texts(figure)])
    page = figure.bbox.extents
    assert (boxes[:, :2] >= page[:2]).all()
    assert (boxes[:, 2:] <= page[2:]).all()
    across = np.minimum(boxes[:, None, 2], boxes[:, 2]) - np.maximum(boxes[:, None, 0], boxes[:, 0])
    down = np.minimum(boxes[:, None, 3], boxes[:, 3]) - np.maximum(boxes[:, None, 1], boxes[:, 1])
    # Boxes hold room for accents and descenders: a fifth of a line is no collision.
    covered = (across > 1) & (down > 0.2 * (boxes[:, 3] - boxes[:, 1]).min())
    np.fill_diagonal(covered, False)
    assert not covered.any()


def test_a_node_lies_between_its_children() -> None:
    tree, _ = made_up(60)
    rows = tree_figure._rows(tree)
    assert sorted(rows[0].tolist()) == list(range(60))
    for layer in range(1, tree.n_layers + 1):
        for node in range(tree.sizes[layer - 1]):
            places = sorted(rows[0][tree.members(layer, node)].tolist())
            assert np.diff(places).tolist() == [1.0] * (len(places) - 1)  # nobody else between
            assert places[0] <= rows[layer][node] <= places[-1]


@pytest.mark.parametrize("n", [60, 200])
def test_sunburst_names_fit_around_the_rim(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    tree, unseen = made_up(n)
    figure = figure_of("sunburst", monkeypatch, tree, unseen)
    names = set(tree.names)
    rim = [text for text in texts(figure) if text.get_text() in names]
    assert {text.get_text() for text in rim} == names
    angles = np.sort([atan2(text.get_position()[1], text.get_position()[0]) for text in rim])
    np.testing.assert_allclose(np.diff(angles), 2 * pi / n, rtol=1e-6)
    radius = hypot(*rim[0].get_position())
    assert rim[0].get_fontsize() / 72 <= radius * 2 * pi / n  # inches; no two lines touch
    assert rim[0].get_fontsize() >= 6.5
    for text in rim:
        is_unseen = unseen[tree.names.index(text.get_text())]
        assert to_hex(text.get_color()).upper() == (UNSEEN if is_unseen else SEEN)


def test_sunburst_wedges_are_as_wide_as_their_classes_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, unseen = made_up(60)
    figure = figure_of("sunburst", monkeypatch, tree, unseen)
    wedges = [patch for patch in figure.axes[0].patches if isinstance(patch, Wedge)]
    rings: dict[float, list[Wedge]] = {}
    for wedge in wedges:
        rings.setdefault(round(wedge.r, 6), []).append(wedge)
    assert [len(ring) for _, ring in sorted(rings.items())] == [*tree.sizes[::-1], 60]
    for ring, layer in zip(sorted(rings), range(tree.n_layers, 0, -1), strict=False):
        found = sorted(round((w.theta2 - w.theta1) / 6) for w in rings[ring])
        assert found == sorted(np.bincount(tree.labels(layer)).tolist())


@pytest.mark.parametrize("kind", ["tree", "sunburst"])
def test_class_names_are_left_out_beyond_300(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    tree = ClassHierarchy([np.arange(301) % 9], names=[f"name {i}" for i in range(301)])
    figure = figure_of(kind, monkeypatch, tree)
    assert not {text.get_text() for text in texts(figure)} & set(tree.names)
    assert any(text.get_text().startswith("name 102, name 111") for text in texts(figure))


def test_tsne_draws_ten_superclasses_with_stars_for_unseen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, unseen = made_up(60)
    figure = figure_of("tsne", monkeypatch, tree, unseen)
    axes = figure.axes[0]
    drawn = {}
    for points in axes.collections:
        for place, color in zip(points.get_offsets(), points.get_facecolors(), strict=True):
            drawn[tuple(place)] = (to_hex(color).upper(), len(points.get_paths()[0].vertices))
    places = tsne_figure.plane(tree.prototypes(0), 0)
    found = [drawn[tuple(place)] for place in places]
    assert len({found[i][1] for i in range(60) if unseen[i]}) == 1
    assert len({found[i][1] for i in range(60) if not unseen[i]}) == 1
    assert found[0][1] != found[1][1]  # an unseen and a seen class
    colored = {node: {found[i][0] for i in tree.members(1, node)} for node in range(tree.sizes[0])}
    assert all(len(colors) == 1 for colors in colored.values())
    used = [next(iter(colors)) for colors in colored.values() if colors != {"#CFCFCF"}]
    assert len(used) == len(set(used)) == 10
    boxes = [text.get_window_extent().extents for text in texts(figure)]
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            apart = (one[2] <= other[0], other[2] <= one[0], one[3] <= other[1], other[3] <= one[1])
            assert any(apart)


def test_superclasses_to_color_are_chosen_by_seed() -> None:
    labels = np.r_[np.arange(30).repeat(2), np.arange(30, 60)]
    chosen = [tsne_figure.choose_superclasses(labels, 10, seed).tolist() for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert all(len(set(c)) == 10 and max(c) < 30 for c in chosen)  # none with a single class
    assert len(tsne_figure.choose_superclasses(np.arange(4), 10, 0)) == 4


@pytest.mark.parametrize(
    "Z", [[[1.0]], [[1.0], [2.0]], np.ones((6, 3)), np.arange(6.0)[:, None], np.eye(4)]
)
def test_tsne_of_little_or_flat_data(tmp_path: Path, Z: Any) -> None:
    tree = ClassHierarchy([np.zeros(len(Z), dtype=int)], semantics=Z)
    assert np.isfinite(tsne_figure.plane(tree.prototypes(0), 0)).all()
    draw_tsne(tree, tmp_path / "few.png", [0])
    assert (tmp_path / "few.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_superclasses": 0}, "n_superclasses is 0"),
        ({"n_superclasses": 11}, "n_superclasses is 11"),
        ({"layer": 9}, "no layer 9"),
        ({"unseen": ["nobody"]}, "unknown class 'nobody'"),
        ({"unseen": [True]}, "mask of shape"),
    ],
)
def test_tsne_refuses_what_it_cannot_draw(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        draw_tsne(made_up(20)[0], tmp_path / "x.png", **options)
    with pytest.raises(InvalidInput, match="no class vectors"):
        draw_tsne(ClassHierarchy([[0, 0, 1]]), tmp_path / "x.png")


@pytest.mark.parametrize("kind", DRAW)
def test_strange_names_are_drawn_as_they_are(tmp_path: Path, kind: str) -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "_$a$": ["$x_{", "[b]"],
            "b\nc$ $\\frac": ["$x_{", "[b]"],
            "___": ["[b]"],
            "d" * 200: ["z"],
        },
        semantics=np.eye(4),
    )
    DRAW[kind](tree, tmp_path / "strange.svg", ["___"], title="$\\alpha")


def test_unseen_can_be_a_mask_indices_or_names() -> None:
    tree, unseen = made_up(20)
    for given in (
        unseen,
        unseen.tolist(),
        np.flatnonzero(unseen),
        [tree.names[i] for i in range(0, 20, 4)],
    ):
        np.testing.assert_array_equal(figures.unseen_mask(tree, given), unseen)
    assert not figures.unseen_mask(tree, None).any()


def test_printed_tree_marks_unseen_without_color() -> None:
    tree = ClassHierarchy.from_taxonomy(
        {
            "lynx": ("beast", "cat"),
            "puma [big]": ("beast", "cat"),
            "wolf": ("beast", "dog"),
            "wren": ("bird",),
        }
    )
    plain = Console(file=io.StringIO(), width=80)
    plain.print(tree_text(tree, ["puma [big]", "wren"]))
    assert plain.file.getvalue() == (  # type: ignore[attr-defined]
        "4 classes: 2 seen, 2 unseen (*)\n"
        "├── beast (3 classes)\n"
        "│   ├── cat (2 classes)\n"
        "│   │   ├── lynx\n"
        "│   │   └── puma [big] *\n"
        "│   └── dog (1 class)\n"
        "│       └── wolf\n"
        "└── bird (1 class)\n"
        "    └── wren *\n"
    )
    colored = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="256")
    colored.print(tree_text(tree, ["wren"]))
    lines = colored.file.getvalue().splitlines()  # type: ignore[attr-defined]
    seen, unseen = (next(x for x in lines if word in x) for word in ("lynx", "wren"))
    assert seen.split("lynx")[0][-8:] != unseen.split("wren")[0][-8:]


def test_drawing_leaves_pyplot_alone_and_importing_is_light(tmp_path: Path) -> None:
    program = (
        "import sys; from zerokin.hierarchy import ClassHierarchy\n"
        "from zerokin.report import draw_tree\n"
        "heavy = {'sklearn', 'matplotlib', 'torch', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        f"draw_tree(ClassHierarchy([[0, 0, 1]]), {str(tmp_path / 'x.png')!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    source = str(Path(__file__).parents[1] / "src")
    subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": source}, check=True)
