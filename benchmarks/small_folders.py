r"""Small folders: ours beside its peers on many small problems drawn from CUB and Critters.

    python benchmarks/small_folders.py xlsa17=DIR --network lite0@128=lite0.mat \
        --folder DIR --json rows.json

A problem has 10, 20 or 40 seen and 4 to 10 unseen classes, all drawn by its number from the data
set's *seen* classes, so that test classes take no part. Its 5 to 30 training images a class, its
class vectors (all attributes, 15 of them, or sentences about the class, encoded by MiniLM) and its
folds are the same for every method. Data sets, vectors, counts of classes and networks go by turns.

``--network NAME=FILE`` names a file of CUB's features in DIR. Those of Critters are read by the
preset NAME, at the size behind ``@`` in the precision behind ``:``, and kept in ``--folder``. Rows
that the JSON file holds already are not measured again. Behind rows of problems stand means over
groups of problems, at the first seed, and the spread over seeds where there are several.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zerokin
from zerokin.benchmark.comparison import find_methods
from zerokin.benchmark.settings import Evaluation, features_name, features_sha256
from zerokin.data import Dataset
from zerokin.data.classes import ClassTable
from zerokin.data.provenance import Provenance
from zerokin.data.readers.split_files import drawn_folds
from zerokin.data.splits import Split
from zerokin.errors import InvalidInput, ZerokinError
from zerokin.features.extraction import extract_features
from zerokin.features.extractor import open_extractor
from zerokin.features.reading import Precision
from zerokin.files import replacing
from zerokin.report.comparison import as_json

VECTORS = ("attributes", "15 attributes", "sentences")
SEEN = (10, 20, 40)
PEERS = "ridge,ridge-s2f,conse,eszsl,sync,sae-f2s,sae-s2f,dap"
FEW, TESTED, DESCRIBED = 15, 15, 8
FACTORS = ("network", "data", "vectors", "n_seen")
MEASURED = {"harmonic mean": "harmonic_mean", "pure": "pure", "unseen": "unseen"}
Sentences = Callable[[], NDArray[np.float64]]
Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Network:
    """What ``--network`` says: a preset, its image size for Critters, and a file of CUB's."""

    name: str
    image_size: int | None
    precision: Precision | None
    cub: str

    @classmethod
    def parse(cls, text: str) -> Network:
        """Read ``NAME=FILE``, with ``@SIZE`` and ``:PRECISION`` after the name or without."""
        found = re.fullmatch(r"([^@:=]+)(?:@(\d+))?(?::(float32|bfloat16))?=(.+)", text)
        if found is None:
            raise InvalidInput(f"--network is NAME@SIZE:PRECISION=FILE or less: got {text!r}")
        name, size, precision, cub = found.groups()
        return cls(name, int(size) if size else None, precision, cub)

    def datasets(self, folder: Path, kept: Path) -> dict[str, Dataset]:
        """Return CUB and Critters with features of this network; those of Critters are read."""
        if self.cub.endswith(".mat"):
            cub = zerokin.load_dataset(f"xlsa17={folder}", features=self.cub)
        else:
            cub = zerokin.load_dataset(f"cub={folder}", features=str(folder / self.cub))
        kept.mkdir(parents=True, exist_ok=True)
        critters = kept / f"critters-{self.name}.safetensors"
        if not critters.exists():
            extractor = open_extractor(
                self.name, image_size=self.image_size, precision=self.precision
            )
            extract_features(extractor, zerokin.load_dataset("critters"), critters)
        return {"critters": zerokin.load_dataset("critters", features=str(critters)), "cub": cub}


@dataclass(frozen=True)
class Problem:
    """What a problem's number draws; network, data set and vectors go by turns."""

    number: int
    network: str
    data: str
    vectors: str
    n_seen: int
    n_unseen: int
    n_images: int

    @classmethod
    def numbered(cls, number: int, classes: Mapping[str, int], networks: Sequence[str]) -> Problem:
        """Return the problem of a number; ``classes`` says how many each data set lends."""
        rng = np.random.default_rng([number, 0])
        turn, data = divmod(number, len(classes))
        turn, vectors = divmod(turn, len(VECTORS))
        turn, seen_turn = divmod(turn, len(SEEN))
        seen, name = SEEN[seen_turn], list(classes)[data]
        return cls(
            number,
            networks[turn % len(networks)],
            name,
            VECTORS[vectors],
            seen,
            min(int(rng.integers(4, 11)), classes[name] - seen),
            int(rng.integers(5, 31)),
        )

    def draw(self, source: Dataset, sentences: Sentences) -> Dataset:
        """Return the problem as a folder of its own would be read."""
        rng = np.random.default_rng([self.number, 1])
        known = rng.permutation(source.seen)[: self.n_seen + self.n_unseen]
        is_unseen = np.arange(len(known)) >= self.n_seen
        labels = source.evaluation_labels(np.arange(len(source)))
        parts: dict[str, list[NDArray[np.int64]]] = {"train": [], "seen": [], "unseen": []}
        for position, label in enumerate(known):
            rows = rng.permutation(np.flatnonzero(labels == label))
            if is_unseen[position]:
                parts["unseen"].append(rows[: 2 * TESTED])
            else:
                images = min(self.n_images, len(rows) - TESTED)
                parts["train"].append(rows[:images])
                parts["seen"].append(rows[images:][:TESTED])
        rows = np.concatenate([row for part in parts.values() for row in part])
        ends = np.cumsum([sum(map(len, part)) for part in parts.values()])
        train, test_seen, test_unseen = np.split(np.arange(len(rows)), ends[:-1])
        names = tuple(source.classes.names[label] for label in known)
        folds = drawn_folds(names, is_unseen)
        position = np.zeros(len(source.classes), dtype=np.int64)
        position[known] = np.arange(len(known))
        return Dataset(
            name=f"problem {self.number}",
            classes=ClassTable(names=names, vectors=self._vectors(source, known, rng, sentences)),
            inputs=np.asarray(source.features[np.sort(rows)])[np.argsort(np.argsort(rows))],
            labels=position[labels[rows]],
            splits={
                "pure": Split(
                    "drawn", is_unseen, train, test_seen, test_unseen, folds.masks, folds.version
                )
            },
            provenance=Provenance(f"problem {self.number}", "drawn"),
        )

    def _vectors(
        self,
        source: Dataset,
        known: NDArray[np.int64],
        rng: np.random.Generator,
        sentences: Sentences,
    ) -> NDArray[np.float64]:
        if self.vectors == "sentences":
            return sentences()[known]
        assert source.classes.vectors is not None
        vectors = source.classes.vectors[known]
        if self.vectors == "attributes":
            return vectors
        # As people would: attributes that tell these classes apart, and none that has nothing.
        telling = np.flatnonzero(vectors.std(axis=0) >= np.median(vectors.std(axis=0)))
        while True:
            few = vectors[:, rng.choice(telling, FEW, replace=False)]
            if few.any(axis=1).all():
                return few


def sentences_about(source: Dataset) -> Sentences:
    """Return what encodes a sentence about every class: name and most telling attributes."""
    found: list[NDArray[np.float64]] = []

    def encoded() -> NDArray[np.float64]:
        if not found:
            from zerokin.semantics import sentence_vectors

            classes = source.classes
            assert classes.vectors is not None
            assert classes.attribute_names is not None
            above = classes.vectors - classes.vectors[source.seen].mean(axis=0)
            texts = []
            for name, row in zip(classes.names, above, strict=True):
                told = [classes.attribute_names[i] for i in np.argsort(-row)[:DESCRIBED]]
                listed = ", ".join(one.replace("::", " ").replace("_", " ") for one in told)
                texts.append(f"{name.partition('.')[2] or name}: {listed}".replace("_", " "))
            found.append(np.asarray(sentence_vectors(texts, "minilm"), dtype=np.float64))
        return found[0]

    return encoded


class Measuring:
    """Methods on one problem with one seed: what they share is read, scaled and factored once.

    Parameters
    ----------
    problem
        The problem.
    source, sentences
        Where it is drawn from.
    seed
        Draws what folds hold out.
    """

    def __init__(self, problem: Problem, source: Dataset, sentences: Sentences, seed: int) -> None:
        self.problem, self.source, self.seed = problem, source, seed
        dataset = problem.draw(source, sentences)
        self.lender = Evaluation(dataset, find_methods(["ridge"])[0], random_state=seed, quiet=True)

    def row(self, name: str) -> dict[str, Any]:
        """Choose and measure one method in both settings."""
        evaluation = Evaluation(
            self.lender.dataset,
            find_methods([name])[0],
            random_state=self.seed,
            beside=self.lender,
            quiet=True,
        )
        chosen = {setting: evaluation.run(setting)[0] for setting in ("generalized", "pure")}
        row = chosen["generalized"]
        return {
            "dataset": self.problem.data,
            "setting": "generalized",
            "method": name,
            "features": features_name(self.source),
            "features_sha256": features_sha256(self.source),
            "split": f"problem {self.problem.number}",
            "seed": self.seed,
            "problem": asdict(self.problem),
            "selection": {"on": row.selection["on"], "tried": row.selection["tried"]},
            "metrics": {
                **{metric: round(value, 4) for metric, value in row.metrics.items()},
                "pure": round(chosen["pure"].metrics["per_class_top1"], 4),
            },
            "seconds": {"selection": sum(one.seconds["selection"] for one in chosen.values())},
        }


def groups_of(rows: Rows) -> dict[str, Rows]:
    """Return rows by the groups of their problems: all, and those of every factor."""
    groups: dict[str, Rows] = {"all": rows}
    for factor in FACTORS:
        of = by(rows, factor)
        groups |= {f"{value} seen" if factor == "n_seen" else value: of[value] for value in of}
    for (data, vectors), found in by(rows, "data", "vectors").items():
        groups[f"{data}, {vectors}"] = found
    return groups


def summaries(rows: Rows) -> Iterator[dict[str, Any]]:
    """Return rows of means over the problems of every group, and of the spread over seeds."""
    first = min(row["seed"] for row in rows)
    yield from means([row for row in rows if row["seed"] == first])
    for name, of in by(rows, "method").items():
        draws = [[one["metrics"]["harmonic_mean"] for one in on] for on in by(of, "split").values()]
        several = [float(np.std(one, ddof=1)) for one in draws if len(one) > 1]
        if several:
            spread = {"mean": float(np.mean(several)), "most": max(several)}
            yield summary(name, "spread over seeds", {**spread, "problems": len(several)})


def means(rows: Rows) -> Iterator[dict[str, Any]]:
    """Return a row of means for every method and metric, over the problems that all share."""
    methods = by(rows, "method")
    shared = set.intersection(*({one["split"] for one in of} for of in methods.values()))
    for measured, metric in MEASURED.items():
        for method, of in methods.items():
            groups = groups_of([one for one in of if one["split"] in shared])
            found = {
                group: round(float(np.mean([one["metrics"][metric] for one in those])), 4)
                for group, those in groups.items()
            }
            yield summary(method, f"small folders, {measured}", {**found, "problems": len(shared)})


def summary(method: str, setting: str, metrics: dict[str, float]) -> dict[str, Any]:
    """Return a row that stands for several problems."""
    return {
        "dataset": "CUB and Critters",
        "setting": setting,
        "method": method,
        "seed": 0,
        "metrics": metrics,
    }


def told(rows: Rows) -> Iterator[str]:
    """Return the lines of a table: means of every method, and ours less the best peer."""
    for setting, of in by(rows, "setting").items():
        ours = next((one["metrics"] for one in of if one["method"] == "ours"), None)
        names = [one["method"] for one in of]
        yield f"\n{setting}\n| group | {' | '.join(names)} | ours less best peer |"
        yield "|---|" + "---:|" * (len(names) + 1)
        for group in of[0]["metrics"]:
            peers = [one["metrics"][group] for one in of if not one["method"].startswith("ours")]
            gap = f"{ours[group] - max(peers):+.1f}" if peers and ours else ""
            cells = " | ".join(f"{one['metrics'][group]:.1f}" for one in of)
            yield f"| {group} | {cells} | {gap} |"


def by(rows: Rows, *factors: str) -> dict[Any, list[dict[str, Any]]]:
    """Return rows by factors of their own or of their problems."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        known = {**row.get("problem", {}), **row}
        key = tuple(known[factor] for factor in factors)
        found.setdefault(key[0] if len(key) == 1 else key, []).append(row)
    return found


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", help="xlsa17=DIR, CUB's folder with the files of features")
    parser.add_argument("--network", action="append", required=True, help="NAME[@SIZE]=FILE")
    parser.add_argument("--folder", type=Path, required=True, help="keeps Critters' features")
    parser.add_argument("--problems", type=int, default=36)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--methods", default=f"ours,{PEERS}")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--json", type=Path, help="rows, which a second call adds to")
    return parser.parse_args(arguments)


def main() -> None:
    args = parse()
    folder = Path(args.data.partition("=")[2])
    networks = {
        one.name: one.datasets(folder, args.folder) for one in map(Network.parse, args.network)
    }
    lent = {name: len(one.seen) for name, one in next(iter(networks.values())).items()}
    sentences = {name: sentences_about(one) for name, one in next(iter(networks.values())).items()}
    kept: list[dict[str, Any]] = []
    if args.json and args.json.exists():
        kept = json.loads(args.json.read_text(encoding="utf-8"))
    rows = [row for row in kept if "problem" in row]
    done = {(row["problem"]["number"], row["method"], row["seed"]) for row in rows}
    methods, seeds = args.methods.split(","), [int(seed) for seed in args.seeds.split(",")]
    numbers = range(args.first, args.first + args.problems)
    for number, seed in product(numbers, seeds):
        problem = Problem.numbered(number, lent, list(networks))
        wanted = [name for name in methods if (number, name, seed) not in done]
        if not wanted:
            continue
        source = networks[problem.network][problem.data]
        measuring = Measuring(problem, source, sentences[problem.data], seed)
        for name in wanted:
            try:
                row = measuring.row(name)
            except ZerokinError as error:
                print(f"problem {number}, {name}: {error}", flush=True)
                continue
            rows.append(row)
            metrics, seconds = row["metrics"], row["seconds"]["selection"]
            print(
                f"{number} {problem.network} {problem.data} {problem.vectors} "
                f"{problem.n_seen}+{problem.n_unseen} x{problem.n_images} {name} seed {seed}: "
                f"H {metrics['harmonic_mean']:.1f}, pure {metrics['pure']:.1f}, {seconds:.0f} s",
                flush=True,
            )
            if args.json:
                write_rows(rows, args.json)
    means_of_groups = list(summaries(rows))
    print("\n".join(told(means_of_groups)))
    if args.json:
        write_rows(rows + means_of_groups, args.json)


def write_rows(rows: Rows, path: Path) -> None:
    with replacing(path) as temporary:
        temporary.write_text(as_json(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
