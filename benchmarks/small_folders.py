r"""Small folders: ours beside its peers on many small problems drawn from CUB and Critters.

    python benchmarks/small_folders.py --data xlsa17=DIR,lite0.mat \
        --data critters,critters.safetensors --methods ours,ridge,sae-s2f --json rows.json

A problem has 10, 20 or 40 seen and 4 to 10 unseen classes, all drawn by its number from the data
set's *seen* classes, so that test classes take no part. Its 5 to 30 training images of a class, its
class vectors (all attributes, 15 of them, or sentences about the class, encoded by MiniLM) and its
folds are the same for every method. Rows that the JSON file holds already are not measured again.
Features of Critters: ``zerokin extract critters --out critters.safetensors``; those of another
network take their place in ``--data``. ``--columns 320`` keeps that many of the features.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zerokin
from zerokin.benchmark.comparison import find_methods
from zerokin.benchmark.settings import Evaluation
from zerokin.data import Dataset
from zerokin.data.classes import ClassTable
from zerokin.data.provenance import Provenance
from zerokin.data.readers.split_files import drawn_folds
from zerokin.data.splits import Split
from zerokin.errors import ZerokinError

VECTORS = ("attributes", "15 attributes", "sentences")
SEEN = (10, 20, 40)
PEERS = "ridge,ridge-s2f,conse,eszsl,sync,sae-f2s,sae-s2f"
FEW, TESTED, DESCRIBED = 15, 15, 8
Sentences = Callable[[], NDArray[np.float64]]


@dataclass(frozen=True)
class Problem:
    """What a problem's number draws; its data set and vectors go by turns."""

    number: int
    data: str
    vectors: str
    n_seen: int
    n_unseen: int
    n_images: int

    @classmethod
    def numbered(cls, number: int, classes: Mapping[str, int]) -> Problem:
        """Return the problem of a number; ``classes`` says how many each data set lends."""
        rng = np.random.default_rng([number, 0])
        turn, data = divmod(number, len(classes))
        turn, vectors = divmod(turn, len(VECTORS))
        seen, name = SEEN[turn % len(SEEN)], list(classes)[data]
        return cls(
            number,
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


def measure(
    problem: Problem, source: Dataset, sentences: Sentences, name: str, seed: int
) -> dict[str, Any]:
    """Choose and measure one method on one problem in both settings."""
    dataset, method = problem.draw(source, sentences), find_methods([name])[0]
    evaluation = Evaluation(dataset, method, random_state=seed, quiet=True)
    rows = {setting: evaluation.run(setting)[0] for setting in ("generalized", "pure")}
    generalized = rows["generalized"]
    return {
        **asdict(problem),
        "method": name,
        "random_state": seed,
        "pure": rows["pure"].metrics["per_class_top1"],
        **generalized.metrics,
        "selection": generalized.selection,
        "seconds": sum(row.seconds["selection"] for row in rows.values()),
    }


def told(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Return the lines of the table: means of every method over all problems and in every group."""
    shared = set.intersection(
        *({row["number"] for row in one} for one in by(rows, "method").values())
    )
    rows = [row for row in rows if row["number"] in shared]
    methods = by(rows, "method")
    groups = {"all": rows}
    for factor in ("data", "vectors", "n_seen"):
        groups |= {f"{factor}: {value}": found for value, found in by(rows, factor).items()}
    for (data, vectors), found in by(rows, "data", "vectors").items():
        groups[f"{data}, {vectors}"] = found
    for metric in ("harmonic_mean", "pure", "unseen"):
        yield f"\n{metric} (mean of {len(shared)} problems)"
        yield "| group | n | " + " | ".join(methods) + " | ours less best peer |"
        yield "|---|---:|" + "---:|" * (len(methods) + 1)
        for group, found in groups.items():
            means = {
                name: np.mean([row[metric] for row in of])
                for name, of in by(found, "method").items()
            }
            peers = [mean for name, mean in means.items() if not name.startswith("ours")]
            gap = f"{means['ours'] - max(peers):+.1f}" if peers and "ours" in means else ""
            cells = " | ".join(f"{means[name]:.1f}" for name in methods)
            yield f"| {group} | {len({row['number'] for row in found})} | {cells} | {gap} |"
    yield "\nsd of H over seeds on the same problem (mean, largest); seconds to choose"
    for name, found in methods.items():
        draws = [[row["harmonic_mean"] for row in of] for of in by(found, "number").values()]
        several = [np.std(one, ddof=1) for one in draws if len(one) > 1]
        spread = f"{np.mean(several):.1f}, at most {max(several):.1f}" if several else "one seed"
        yield f"{name}: {spread}; {np.mean([row['seconds'] for row in found]):.0f} s"


def by(rows: Sequence[dict[str, Any]], *factors: str) -> dict[Any, list[dict[str, Any]]]:
    found: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        key = tuple(row[factor] for factor in factors)
        found.setdefault(key[0] if len(key) == 1 else key, []).append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", action="append", required=True, help="DATA,FEATURES")
    parser.add_argument("--problems", type=int, default=72)
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--methods", default=f"ours,{PEERS}")
    parser.add_argument("--seeds", default="0")
    parser.add_argument(
        "--columns", type=int, help="so many features, evenly spaced: quicker, and harder"
    )
    parser.add_argument("--json", type=Path, help="rows, which a second call adds to")
    args = parser.parse_args()
    sources = {}
    for given in args.data:
        data, _, features = given.partition(",")
        dataset = zerokin.load_dataset(data, features=features or None)
        if args.columns:
            width = dataset.features.shape[1]
            kept = np.linspace(0, width, args.columns, endpoint=False).astype(int)
            dataset = dataset.with_inputs(np.ascontiguousarray(dataset.features[:, kept]))
        sources[dataset.name.lower()] = (dataset, sentences_about(dataset))
    lent = {name: len(dataset.seen) for name, (dataset, _) in sources.items()}
    rows = (
        json.loads(args.json.read_text(encoding="utf-8"))
        if args.json and args.json.exists()
        else []
    )
    done = {(row["number"], row["method"], row["random_state"]) for row in rows}
    for number in range(args.first, args.first + args.problems):
        problem = Problem.numbered(number, lent)
        for name in args.methods.split(","):
            for seed in map(int, args.seeds.split(",")):
                if (number, name, seed) in done:
                    continue
                try:
                    row = measure(problem, *sources[problem.data], name, seed)
                except ZerokinError as error:
                    print(f"problem {number}, {name}: {error}", flush=True)
                    continue
                rows.append(row)
                print(
                    f"{number} {problem.data} {problem.vectors} "
                    f"{problem.n_seen}+{problem.n_unseen} "
                    f"x{problem.n_images} {name} seed {seed}: H {row['harmonic_mean']:.1f}, "
                    f"pure {row['pure']:.1f}, {row['seconds']:.0f} s",
                    flush=True,
                )
                if args.json:
                    args.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print("\n".join(told(rows)))


if __name__ == "__main__":
    main()
