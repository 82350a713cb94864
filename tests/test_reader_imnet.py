"""ImNet, in made-up folders of two ImageNet challenges."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import typer.main
from scipy.io import savemat

from builders import image_bytes
from zerokin.benchmark.catalog import load_catalog
from zerokin.benchmark.comparison import find_methods
from zerokin.benchmark.settings import Evaluation
from zerokin.cli import app
from zerokin.commands.recorded_command import make_ready
from zerokin.data.load import load_dataset
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.semantics.wordnet_nouns import usual_folder

SEEN = ("n00000004", "n00000002", "n00000006", "n00000008")
ONLY_2010 = ("n00000005", "n00000001")
IN_BOTH = "n00000004"


def write_images(folder: Path, names) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(image_bytes())


def write_seen(folder: Path, root: str = "ILSVRC2012/train") -> None:
    for number, wnid in enumerate(SEEN):
        write_images(folder / root / wnid, [f"{wnid}_{i}.JPEG" for i in range(number + 1)])


def write_unseen(folder: Path, root: str = "ILSVRC2010/val") -> None:
    for wnid in (*ONLY_2010, IN_BOTH):
        write_images(folder / root / wnid, [f"val_{i}_{wnid}.JPEG" for i in range(2)])


def write_flat(folder: Path, devkit: str = "ILSVRC2010/devkit-1.0") -> None:
    """Images 1 … 6 of classes 3, 7, 3, 12, 7, 7; class 12 is also in ILSVRC2012."""
    names = [f"ILSVRC2010_val_{i:08}.JPEG" for i in range(1, 7)]
    write_images(folder / "ILSVRC2010/val", names)
    data = folder / devkit / "data"
    data.mkdir(parents=True)
    (data / "ILSVRC2010_validation_ground_truth.txt").write_text("3\n7\n3\n12\n7\n7\n")
    fields = [("ILSVRC2010_ID", object), ("WNID", object), ("words", object)]
    synsets = np.array(
        [
            (12, IN_BOTH, "x"),
            (3.0, ONLY_2010[0], "y"),
            (7.0, ONLY_2010[1], "z"),
            (1001.0, "n00000009", "an inner node"),
        ],
        dtype=fields,
    )[:, None]
    savemat(data / "meta.mat", {"synsets": synsets})


def write_vectors(folder: Path, wnids, name: str = "word_vectors.csv") -> None:
    lines = [f"{wnid},{int(wnid[1:])},1" for wnid in wnids]
    text = "wnid,d0,d1\n" + "\n".join(lines) + "\n"
    if name.endswith(".txt"):
        text = "\n".join(lines).replace(",", " ") + "\n"
    (folder / name).write_text(text)


@pytest.fixture
def imnet(tmp_path: Path) -> Path:
    write_seen(tmp_path)
    write_unseen(tmp_path)
    write_vectors(tmp_path, sorted({*SEEN, *ONLY_2010}))
    return tmp_path


def refusal(folder: Path) -> str:
    with pytest.raises(ZerokinError) as raised:
        load_dataset(f"imnet={folder}")
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_classes_of_2010_alone_are_unseen_and_images_of_shared_ones_are_left(imnet) -> None:
    dataset = load_dataset(f"imnet={imnet}")
    assert dataset.classes.names == (*sorted(SEEN), *sorted(ONLY_2010))
    assert dataset.unseen.tolist() == [4, 5]
    labels = dataset.evaluation_labels(np.arange(len(dataset)))
    # Class 0 is n00000002, the second written, and so has two images.
    assert np.bincount(labels).tolist() == [2, 1, 3, 4, 2, 2]
    assert [name.split("/")[2] for name in dataset.images.names] == [
        dataset.classes.names[label] for label in labels
    ]
    assert not any("ILSVRC2010" in n and IN_BOTH in n for n in dataset.images.names)
    assert dataset.split.version == "ILSVRC2012/ILSVRC2010"
    assert dataset.split.train.tolist() == list(range(10))
    assert dataset.split.test_unseen.tolist() == list(range(10, 14))
    assert dataset.classes.vectors[:, 0].tolist() == [2, 4, 6, 8, 1, 5]
    assert dataset.images.load(13).size == (40, 30)


@pytest.mark.parametrize(
    "root", ["ILSVRC2012_img_train", "ILSVRC/Data/CLS-LOC/train", "train_2012"]
)
def test_other_places_of_the_seen_classes(tmp_path, root) -> None:
    write_seen(tmp_path, root)
    write_unseen(tmp_path, "ILSVRC2010/train")
    dataset = load_dataset(f"imnet={tmp_path}")
    assert (len(dataset.seen), len(dataset.unseen), len(dataset)) == (4, 2, 14)
    assert dataset.classes.vectors is None


@pytest.mark.parametrize("devkit", ["ILSVRC2010/devkit-1.0", "devkit-1.0"])
def test_a_flat_folder_is_labeled_by_the_devkit(tmp_path, devkit) -> None:
    write_seen(tmp_path)
    write_flat(tmp_path, devkit)
    dataset = load_dataset(f"imnet={tmp_path}")
    unseen = dataset.split.test_unseen
    numbers = [int(dataset.images.names[i][-13:-5]) for i in unseen]
    names = [dataset.classes.names[i] for i in dataset.evaluation_labels(unseen)]
    by_hand = {1: "n00000005", 2: "n00000001", 3: "n00000005", 5: "n00000001", 6: "n00000001"}
    assert dict(zip(numbers, names, strict=True)) == by_hand
    assert {file.path.name for file in dataset.provenance.files} == {
        "ILSVRC2010_validation_ground_truth.txt",
        "meta.mat",
    }


def test_names_have_the_first_word_where_words_are_known(imnet) -> None:
    text = "n00000002\ttench, Tinca tinca\nn00000077\tother\nn00000001\tcat\n"
    (imnet / "words.txt").write_text(text)
    names = load_dataset(f"imnet={imnet}").classes.names
    assert names[0] == "n00000002 tench"
    assert names[1] == "n00000004"
    assert names[4] == "n00000001 cat"


def test_vectors_may_be_text_in_columns(imnet) -> None:
    expected = load_dataset(f"imnet={imnet}").classes.vectors
    (imnet / "word_vectors.csv").unlink()
    write_vectors(imnet, sorted({*SEEN, *ONLY_2010}, reverse=True), "word_vectors.txt")
    np.testing.assert_array_equal(load_dataset(f"imnet={imnet}").classes.vectors, expected)


def test_every_class_without_a_vector_is_named(imnet) -> None:
    write_vectors(imnet, ["n00000002", "n00000005", "n00000006"])
    message = refusal(imnet)
    assert "lacks the vectors of 3 of 6 classes: add n00000004, n00000008, n00000001" in message


def rename(old: str, new: str):
    def spoil(folder: Path) -> None:
        (folder / new).parent.mkdir(parents=True, exist_ok=True)
        (folder / old).rename(folder / new)

    return spoil


BAD = {
    "no seen classes": (
        rename("ILSVRC2012", "elsewhere"),
        "no folder of seen classes .* it should be ILSVRC2012/train or",
    ),
    "no unseen classes": (rename("ILSVRC2010", "elsewhere"), "no folder of unseen classes"),
    "a folder that is no class": (
        rename("ILSVRC2012/train/n00000006", "ILSVRC2012/train/tench"),
        "train/tench is not a class: folders there are named by wnid",
    ),
    "an image outside the classes": (
        lambda d: write_images(d / "ILSVRC2012/train", ["loose.JPEG"]),
        "image .*loose.JPEG lies in no class folder",
    ),
    "a class without images": (
        lambda d: (d / "ILSVRC2010/val/n00000003").mkdir(),
        "n00000003 holds no images",
    ),
    "tar files that were not unpacked": (
        lambda d: [
            rename("ILSVRC2012", "elsewhere")(d),
            (d / "ILSVRC2012/train").mkdir(parents=True),
            (d / "ILSVRC2012/train/n00000002.tar").touch(),
        ],
        "unpack the tar file of every class",
    ),
    "the same classes in both": (
        lambda d: [
            rename("ILSVRC2010", "elsewhere")(d),
            rename(f"elsewhere/val/{IN_BOTH}", f"ILSVRC2010/val/{IN_BOTH}")(d),
        ],
        "no classes beyond those of ILSVRC2012",
    ),
    "words without tabs": (
        lambda d: (d / "words.txt").write_text("n00000002 tench\n"),
        "words.txt, line 1: 'n00000002 tench' has no tab",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_in_one_line(imnet, case) -> None:
    spoil, expected = BAD[case]
    spoil(imnet)
    message = refusal(imnet)
    assert re.search(expected, message), message


def spoil_truth(text: str):
    return lambda data: (data / "ILSVRC2010_validation_ground_truth.txt").write_text(text)


BAD_DEVKIT = {
    "no devkit": (lambda data: data.rename(data.parent / "gone"), "no folder of development kit"),
    "no meta.mat": (lambda data: (data / "meta.mat").unlink(), "no MATLAB file at .*meta.mat"),
    "too few lines": (spoil_truth("3\n7\n"), "has 6 images, but .*ground_truth.txt has 2 lines"),
    "an unknown class": (spoil_truth("3\n7\n3\n99\n7\n7\n"), "line 4: .*has no class '99'"),
    "no wnids": (
        lambda data: savemat(data / "meta.mat", {"synsets": {"ILSVRC2010_ID": 3.0}}),
        "synsets lacks the field WNID",
    ),
    "an image without a number": (
        lambda data: rename("ILSVRC2010_val_00000004.JPEG", "mine.JPEG")(data.parents[1] / "val"),
        "mine.JPEG has no number from 1 to 6 in its name",
    ),
}


@pytest.mark.parametrize("case", BAD_DEVKIT)
def test_a_bad_devkit_is_named_in_one_line(tmp_path, case) -> None:
    write_seen(tmp_path)
    write_flat(tmp_path)
    spoil, expected = BAD_DEVKIT[case]
    spoil(tmp_path / "ILSVRC2010/devkit-1.0/data")
    message = refusal(tmp_path)
    assert re.search(expected, message), message


def test_so_many_images_are_drawn_of_every_class_and_the_version_says_it(imnet) -> None:
    everything = load_dataset(f"imnet={imnet}")
    drawn = load_dataset(f"imnet={imnet},train=3,test=1")
    labels = drawn.evaluation_labels(np.arange(len(drawn)))
    assert np.bincount(labels).tolist() == [2, 1, 3, 3, 1, 1]
    assert set(drawn.images.names) < set(everything.images.names)
    assert drawn.images.names == load_dataset(f"imnet={imnet},train=3,test=1,seed=0").images.names
    assert drawn.split.version == (
        "ILSVRC2012/ILSVRC2010, 3 seen and 1 unseen images a class, seed 0"
    )
    others = {load_dataset(f"imnet={imnet},test=1,seed={k}").images.names[-1] for k in range(9)}
    assert len(others) == 2
    assert load_dataset(f"imnet={imnet},seed=3").split.version == "ILSVRC2012/ILSVRC2010"


def test_what_is_drawn_of_a_class_does_not_depend_on_others(imnet) -> None:
    before = load_dataset(f"imnet={imnet},train=2").images.names
    write_images(imnet / "ILSVRC2012/train/n00000007", [f"{i}.JPEG" for i in range(5)])
    (imnet / "word_vectors.csv").unlink()
    after = load_dataset(f"imnet={imnet},train=2").images.names
    assert [name for name in after if "n00000007" not in name] == list(before)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (",train=0", "train must be a whole number of at least 1: got '0'"),
        (",test=many", "test must be a whole number of at least 1: got 'many'"),
        (",trian=3", "unknown option 'trian'; did you mean 'train'"),
        (",train=3,train=4", "the option train is given twice"),
    ],
)
def test_options_are_checked(imnet, options, expected) -> None:
    assert expected in refusal(f"{imnet}{options}")


def test_a_folder_may_have_a_comma_in_its_name(imnet) -> None:
    renamed = imnet.rename(imnet.parent / "a=b, c")
    assert len(load_dataset(f"imnet={renamed},test=1")) == 12


REAL = {
    "seen": [
        "n01440764",
        "n01443537",
        "n01484850",
        "n01491361",
        "n01494475",
        "n01514668",
        "n01518878",
        "n01530575",
        "n01531178",
        "n01532829",
        "n02123045",
        "n02123159",
        "n02124075",
        "n02504458",
        "n02701002",
        "n03100240",
        "n04467665",
    ],
    "unseen": [
        "n02119022",
        "n02119789",
        "n01503061",
        "n02121620",
        "n02958343",
        "n02512053",
        "n01495701",
    ],
}


@pytest.fixture
def real_wordnet(tmp_path) -> Path:
    """ImNet's folders with classes of the real WordNet, images and vectors made up."""
    if not (usual_folder() / "data.noun").exists():
        pytest.skip(f"no WordNet at {usual_folder()}: install wordnet-base")
    rng = np.random.default_rng(11)
    folder = tmp_path / "real"
    for wnid in REAL["seen"]:
        names = [f"{wnid}_{i}.JPEG" for i in range(rng.integers(7, 12))]
        write_images(folder / "ILSVRC2012/train" / wnid, names)
    for wnid in REAL["unseen"]:
        names = [f"val_{wnid}_{i}.JPEG" for i in range(rng.integers(4, 9))]
        write_images(folder / "ILSVRC2010/val" / wnid, names)
    lines = [
        f"{wnid},{','.join(map(str, rng.normal(size=13)))}"
        for wnid in (*REAL["seen"], *REAL["unseen"])
    ]
    header = ",".join(["wnid", *(f"d{i}" for i in range(13))])
    (folder / "word_vectors.csv").write_text("\n".join([header, *lines]) + "\n")
    (folder / "wordnet").symlink_to(usual_folder())
    return folder


SPEC = ",train=6,test=4"


def write_features(folder: Path) -> None:
    """Write features that are a noisy map of the word vectors."""
    dataset = load_dataset(f"imnet={folder}{SPEC}")
    rng = np.random.default_rng(2)
    labels = dataset.evaluation_labels(np.arange(len(dataset)))
    clean = dataset.semantics[labels] @ rng.normal(size=(13, 19))
    np.save(folder / "features.npy", clean + 0.8 * rng.normal(size=clean.shape))


def test_superclasses_are_those_of_wordnet(real_wordnet) -> None:
    dataset = load_dataset(f"imnet={real_wordnet}{SPEC}")
    paths = dict(zip(dataset.classes.wnids, dataset.classes.taxonomy, strict=True))
    assert paths["n02123045"][-2:] == ("cat#n02121620", "domestic cat#n02121808")
    assert all(path[0] == "entity#n00001740" for path in paths.values())
    tree = build_hierarchy(dataset, "taxonomy")
    cats = [dataset.classes.wnids.index(wnid) for wnid in ("n02123045", "n02123159", "n02124075")]
    assert len(set(tree.labels(1)[cats])) == 1
    assert len(set(tree.labels(1)[[0, cats[0]]])) == 2
    assert "data.noun" in {file.path.name for file in dataset.provenance.files}
    (real_wordnet / "wordnet").unlink()
    without = load_dataset(f"imnet={real_wordnet}")
    assert without.classes.taxonomy is None
    with pytest.raises(
        InvalidInput, match=r"ImNet knows no taxonomy .* data\.noun into the folder"
    ):
        build_hierarchy(without, "taxonomy")


@pytest.mark.parametrize("name", ["imnet-data", "imnet-features", "imnet-paper"])
def test_the_catalogs_commands_find_all_they_need(real_wordnet, name, tmp_path) -> None:
    write_features(real_wordnet)
    command = load_catalog().runs[name].command
    assert ",train=200,test=50 " in command
    smaller = command.replace(",train=200,test=50", SPEC).replace(".safetensors", ".npy")
    ready = make_ready(
        smaller, {"imnet": real_wordnet}, tmp_path / "out", typer.main.get_command(app)
    )
    assert {"data.noun", "word_vectors.csv"} <= set(ready.data)


@pytest.mark.parametrize("name", ["paper-flat", "paper", "paper-taxonomy", "ours-taxonomy"])
def test_hit_at_5_without_and_with_superclasses(real_wordnet, name) -> None:
    write_features(real_wordnet)
    dataset = load_dataset(
        f"imnet={real_wordnet}{SPEC}", features=str(real_wordnet / "features.npy")
    )
    (method,) = find_methods([name])
    method.stages = ([{}],)
    metrics = Evaluation(dataset, method, quiet=True).run("pure")[0].metrics
    assert 100 * 5 / 7 < metrics["hit5"] <= 100  # better than chance
    assert metrics["top1"] <= metrics["hit5"]
