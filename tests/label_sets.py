"""Made-up data with several labels a sample: arrays, and files in official layouts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from builders import image_bytes
from zerokin.data import ClassTable, MultiLabelDataset, Provenance
from zerokin.data.readers.label_splits import drawn_label_folds, multi_label_split


def label_arrays(seed=0, n=157, n_classes=17, n_unseen=5, regions=5, d_f=23, d_z=9):
    """Draw images of regions: a label's region is its projected semantics, others are noise."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_classes, d_z))
    world = rng.normal(size=(d_z, d_f))
    labels = np.zeros((n, n_classes), dtype=bool)
    X = 0.6 * rng.normal(size=(n, regions, d_f))
    for row in range(n):
        pool = n_classes if row >= 2 * n // 3 else n_classes - n_unseen
        held = rng.choice(pool, rng.integers(1, 4), replace=False)
        labels[row, held] = True
        X[row, rng.choice(regions, len(held), replace=False)] += Z[held] @ world
    return X, labels, Z


def label_dataset(seed=0, *, pooled=False, **sizes):
    """Make a data set of such arrays; the last third of the samples tests."""
    X, labels, Z = label_arrays(seed, **sizes)
    n, C = labels.shape
    n_unseen = sizes.get("n_unseen", 5)
    unseen = np.arange(C) >= C - n_unseen
    names = [f"class {number}" for number in range(C)]
    return MultiLabelDataset(
        name="made up",
        classes=ClassTable(tuple(names), Z, "drawn"),
        inputs=X.mean(axis=1) if pooled else X,
        labels=labels,
        splits={
            "pure": multi_label_split(
                csr(labels),
                unseen,
                np.arange(n) >= 2 * n // 3,
                version="drawn",
                folds=drawn_label_folds(names, unseen),
            )
        },
        provenance=Provenance("made-up", "drawn"),
    )


def csr(labels):
    from scipy.sparse import csr_array

    return csr_array(np.asarray(labels, dtype=bool))


def write_coco(folder: Path, names, images, *, test_from, images_too=True):
    """Write COCO's two files: ``images`` is a list of lists of names, some of them repeated."""
    (folder / "annotations").mkdir(parents=True)
    categories = [
        {"id": 3 * at + 1, "name": name, "supercategory": f"kind {at % 2}"}
        for at, name in enumerate(names)
    ]
    ids = {one["name"]: one["id"] for one in categories}
    for part, chosen in (
        ("train2017", range(test_from)),
        ("val2017", range(test_from, len(images))),
    ):
        (folder / part).mkdir()
        marked = []
        for at in chosen:
            for name in images[at]:
                box = {"bbox": [0, 0, 5, 5], "iscrowd": 0, "area": 25, "id": len(marked)}
                marked.append({"image_id": 100 + at, "category_id": ids[name], **box})
            if images_too:
                (folder / part / f"{at:012d}.jpg").write_bytes(image_bytes(kind="JPEG"))
        found = {
            "info": {"year": 2017},
            "images": [{"id": 100 + at, "file_name": f"{at:012d}.jpg"} for at in chosen],
            "annotations": marked,
            "categories": categories,
        }
        path = folder / "annotations" / f"instances_{part}.json"
        path.write_text(json.dumps(found), encoding="utf-8")


def write_nus_wide(folder: Path, tags, concepts, tagged, truth):
    """Write NUS-WIDE's lists: marks of (train, test) images for tags, and for concepts."""
    for below in ("ImageList", "ConceptsList", "Groundtruth/TrainTestLabels", "NUS_WID_Tags"):
        (folder / below).mkdir(parents=True)
    text = "\n".join(concepts) + "\n"
    (folder / "ConceptsList" / "Concepts81.txt").write_text(text, encoding="utf-8")
    text = "\n".join(tags) + "\n"
    (folder / "NUS_WID_Tags" / "TagList1k.txt").write_text(text, encoding="utf-8")
    for part, marks, concept_marks in zip(("Train", "Test"), tagged, truth, strict=True):
        names = [f"actor\\{part}_{at:04d}.jpg" for at in range(len(marks))]
        text = "\r\n".join(names) + "\r\n"
        (folder / "ImageList" / f"{part}Imagelist.txt").write_text(text, encoding="utf-8")
        lines = ["\t".join(str(int(one)) for one in row) + "\t" for row in marks]
        path = folder / "NUS_WID_Tags" / f"{part}_Tags1k.dat"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        for at, concept in enumerate(concepts):
            lines = [str(int(one)) for one in concept_marks[:, at]]
            path = folder / "Groundtruth" / "TrainTestLabels" / f"Labels_{concept}_{part}.txt"
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def voc_xml(objects):
    """Return an annotation: names of objects; one that ends in ``?`` is difficult."""
    boxes = "".join(
        f"<object><name>{name.rstrip('?')}</name><pose>Left</pose><truncated>0</truncated>"
        f"<difficult>{int(name.endswith('?'))}</difficult>"
        "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>"
        "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object>"
        for name in objects
    )
    return (
        "<annotation><folder>VOC2007</folder><filename>x.jpg</filename><size><width>10</width>"
        f"</size><segmented>0</segmented>{boxes}</annotation>"
    )


def write_voc(folder: Path, images, *, test_from, unseen):
    for below in ("ImageSets/Main", "Annotations", "JPEGImages"):
        (folder / below).mkdir(parents=True)
    names = [f"{at:06d}" for at in range(len(images))]
    for part, chosen in (("trainval", names[:test_from]), ("test", names[test_from:])):
        (folder / "ImageSets" / "Main" / f"{part}.txt").write_text("\n".join(chosen) + "\n")
    for name, objects in zip(names, images, strict=True):
        (folder / "Annotations" / f"{name}.xml").write_text(voc_xml(objects), encoding="utf-8")
        (folder / "JPEGImages" / f"{name}.jpg").write_bytes(image_bytes(kind="JPEG"))
    (folder / "unseen.txt").write_text("\n".join(unseen) + "\n", encoding="utf-8")
