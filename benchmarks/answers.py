"""How far can answers be trusted? Calibration, hedging and "none of these", folds and test.

Everything is learned on the validation folds; test images are scored once, at the end.

Run: python benchmarks/answers.py xlsa17=DIR --figure docs/images/risk_coverage.png
     python benchmarks/answers.py xlsa17=DIR --only novelty --near cub=DIR --far mini-imagenet=DIR
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.metrics import roc_auc_score

import zerokin
from zerokin.classifiers import ZeroShotClassifier
from zerokin.data.dataset import Dataset
from zerokin.data.splits import Split
from zerokin.hierarchy.from_dataset import build_hierarchy
from zerokin.progress import track
from zerokin.recognizer.confidence.confidence import (
    expected_calibration_error,
    fit_temperature,
    probabilities,
    surprise,
)
from zerokin.recognizer.confidence.fitting import AnswerFitter, balanced_weights
from zerokin.recognizer.confidence.novelty import typicality
from zerokin.recognizer.confidence.risk_coverage import risk_coverage
from zerokin.recognizer.confidence.scored import Scored
from zerokin.recognizer.confidence.selective_prediction import predict_selectively
from zerokin.report.risk_coverage import draw_risk_coverage
from zerokin.selection.class_fold_search import ClassFoldSearch
from zerokin.selection.zero_shot_space import Ours

RISKS = (0.05, 0.1, 0.2, 0.3)
STATED = (0.0, 0.05, 0.1, 0.2, 0.3)
FEWER = (5, 10, 25)
FAMILIES = 5
SMALL, SIDE = 84, 224


class AsGiven(Ours):
    """The default hyper-parameters; the folds choose the seen-unseen balance alone."""

    stages = ([{}],)


def fitted(dataset, params):
    train = np.asarray(dataset.features[dataset.split.train])
    return ZeroShotClassifier(**params).fit(
        train, dataset.training_labels(), semantics=dataset.classes
    )


def tested(dataset, model, kind):
    split = dataset.split
    parts = [split.test_unseen] if kind == "unseen" else [split.test_unseen, split.test_seen]
    samples = np.concatenate(parts)
    candidates = dataset.unseen if kind == "unseen" else np.arange(len(dataset.classes))
    scores = model.decision_function(np.asarray(dataset.features[samples]))[:, candidates]
    weights = balanced_weights(np.arange(len(samples)) < len(split.test_unseen), 0.5)
    return Scored(scores, candidates, dataset.evaluation_labels(samples), weights)


def seen_temperature(fitter):
    """Return what one would learn without validation classes: seen samples among seen ones."""
    parts = []
    for fold in fitter.folds:
        seen = ~np.isin(fold.scored.candidates, fold.validation)
        own = ~np.isin(fold.scored.truth, fold.validation)
        part = fold.scored
        parts.append(Scored(part.scores[own][:, seen], part.candidates[seen], part.truth[own]))
    return fit_temperature(parts)


def print_confidence(name, samples, temperature):
    shares = probabilities(samples.scores, temperature)
    sure, right = shares.max(axis=1), shares.argmax(axis=1) == samples.columns
    error = expected_calibration_error(sure, right, weights=samples.weights)
    print(
        f"| {name} | {temperature:.4f} | {100 * samples.weights @ right:.1f} | "
        f"{100 * samples.weights @ sure:.1f} | {error:.1f} | {surprise(samples, temperature):.3f} |"
    )


def print_hedging(name, curve, calibration):
    cells = []
    for bounds in (RISKS, [calibration.each_risk(risk) for risk in RISKS]):
        for bound in bounds:
            coverage, specificity, risk = curve.at(bound)
            cells.append(f"{100 * coverage * risk:.1f} ({100 * specificity:.0f})")
    print(f"| {name} | {' | '.join(cells)} |")


def print_stated(name, pairs, tree):
    """Compare the risks stated with answers, each of at most 30 %, with how often they failed."""
    stated, wrong, weights = [], [], []
    for samples, calibration in pairs:
        answers = predict_selectively(
            samples.scores, tree, samples.candidates, calibration, STATED[-1]
        )
        named = answers.layer <= tree.n_layers
        nodes = np.array([tree.labels(layer) for layer in range(tree.n_layers + 1)])
        true = nodes[np.minimum(answers.layer, tree.n_layers), samples.truth]
        stated.append(answers.risk)
        wrong.append(named & (true != answers.node))
        weights.append(samples.weights)
    stated, wrong, weights = map(np.concatenate, (stated, wrong, weights))
    cells = []
    for low, high in itertools.pairwise(STATED):
        own = (stated > low) & (stated <= high)
        share = weights[own].sum() / weights.sum()
        means = [100 * np.average(x[own], weights=weights[own]) for x in (stated, wrong)]
        cells.append(f"{100 * share:.0f} % of answers: {means[0]:.1f} → {means[1]:.1f}")
    print(f"| {name} | {' | '.join(cells)} |")


def print_fewer_candidates(pairs, draws=5):
    """Measure the calibration error on left-out folds where fewer classes are candidates."""
    rng = np.random.default_rng(0)
    for k in FEWER:
        errors = []
        for samples, calibration in pairs:
            for _ in range(draws):
                some = np.sort(rng.choice(len(samples.candidates), size=k, replace=False))
                own = np.isin(samples.columns, some)
                shares = probabilities(samples.scores[own][:, some], calibration.temperature)
                right = some[shares.argmax(axis=1)] == samples.columns[own]
                errors.append(expected_calibration_error(shares.max(axis=1), right))
        print(f"{k} candidates drawn at random, left-out folds: ECE {np.mean(errors):.1f}")


def auroc(known, outliers):
    """Chance that a known sample is more typical than an outlier, ties counting half."""
    is_known = np.arange(len(known) + len(outliers)) < len(known)
    return roc_auc_score(is_known, np.concatenate([known, outliers]))


def study_answers(dataset, params, figure):
    cold = seen_temperature(AnswerFitter(dataset, params, candidates="all", quiet=True))
    model = fitted(dataset, params)
    for kind in ("unseen", "all"):
        fitter = AnswerFitter(dataset, params, candidates=kind, quiet=True)
        test, calibration = tested(dataset, model, kind), fitter.calibration()
        print(f"\n## candidates: {kind}\n")
        print("| measured on, temperature from | T | accuracy | confidence | ECE | surprise |")
        print("|---|---:|---:|---:|---:|---:|")
        for number, (fold, left_out) in enumerate(fitter.left_out(), start=1):
            print_confidence(f"fold {number}, other folds", fold.scored, left_out.temperature)
        print_confidence("test, none (T = 1)", test, 1.0)
        print_confidence("test, seen classes alone", test, cold)
        print_confidence("test, folds", test, calibration.temperature)
        pairs = [(fold.scored, left_out) for fold, left_out in fitter.left_out()]
        print("\nrisk stated → wrong in %\n")
        heads = [f"stated {low:.0%} to {high:.0%}" for low, high in itertools.pairwise(STATED)]
        print(f"| clusters | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
        print_stated("left-out folds", pairs, fitter.hierarchy)
        print_stated("test", [(test, calibration)], fitter.hierarchy)
        if kind == "unseen":
            print()
            print_fewer_candidates(pairs)
        curves = {}
        for grouping in ("clusters", "taxonomy"):
            if grouping == "taxonomy":
                fitter.hierarchy = build_hierarchy(dataset, "taxonomy")
                calibration = fitter.calibration()
            tree = fitter.hierarchy
            print(f"\n{grouping}: wrong answers in % (information in %)\n")
            heads = [f"each ≤ {r:.0%}" for r in RISKS] + [f"overall ≤ {r:.0%}" for r in RISKS]
            print(f"| measured on | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
            for number, (fold, left_out) in enumerate(fitter.left_out(), start=1):
                curve = risk_coverage(fold.scored, tree, left_out)
                print_hedging(f"fold {number}", curve, left_out)
            curve = risk_coverage(test, tree, calibration)
            print_hedging("test", curve, calibration)
            curves[f"superclasses: {grouping}"] = curve
            curves["class or nothing"] = risk_coverage(test, tree, calibration, superclasses=False)
        print("\n| area under risk over | coverage | specificity |\n|---|---:|---:|")
        for name, curve in curves.items():
            over = [f"{100 * curve.area(axis):.2f}" for axis in ("coverage", "specificity")]
            print(f"| {name} | {over[0]} | {over[1]} |")
        if figure and kind == "unseen":
            title = f"{dataset.name}: wrong answers on {len(dataset.unseen)} unseen classes"
            draw_risk_coverage(curves, figure, title=title)


def without_classes(dataset: Dataset, left_out: NDArray[np.bool_]) -> Dataset:
    """Return a data set in which some classes do not exist, neither seen nor unseen."""
    keep, split = np.flatnonzero(~left_out), dataset.split
    position = np.full(len(dataset.classes), -1)
    position[keep] = np.arange(len(keep))
    labels = position[dataset.evaluation_labels(np.arange(len(dataset)))]
    parts = {name: part[labels[part] >= 0] for name, part in split.parts.items()}
    smaller = Split(
        version=f"{split.version}, {left_out.sum()} classes left out",
        unseen=split.unseen[keep],
        folds=tuple(fold[keep] for fold in split.folds),
        folds_version=split.folds_version,
        **parts,
    )
    return Dataset(
        name=dataset.name,
        classes=dataset.classes.select(keep),
        inputs=dataset.inputs,
        labels=labels,
        splits={"left out": smaller},
        provenance=dataset.provenance,
    )


def study_novelty(dataset, params, near, far):
    outliers = {} if far is None else far_features(near, far, dataset)
    families = np.array([path[1] for path in dataset.classes.taxonomy])
    split = dataset.split
    print("\n| outliers | classes | AUROC to seen | to unseen | rejected | of seen | of unseen |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for family in [None, *(name for name, _ in Counter(families).most_common(FAMILIES))]:
        world = without_classes(dataset, families == family) if family else dataset
        fitter = AnswerFitter(world, params, candidates="all", quiet=True)
        rule = fitter.calibration().novelty
        model = fitted(world, params)

        def typical(features, model=model):
            return typicality(model.decision_function(features))

        seen, unseen = (
            typical(np.asarray(dataset.features[part]))
            for part in (world.split.test_seen, world.split.test_unseen)
        )
        strangers = outliers
        if family:
            tests = np.concatenate([split.test_seen, split.test_unseen])
            own = families[dataset.evaluation_labels(tests)] == family
            strangers = {family: np.asarray(dataset.features[tests[own]])}
        known = f"{100 * rule.rejects(seen).mean():.1f} | {100 * rule.rejects(unseen).mean():.1f}"
        if not strangers:
            print(f"| none | | | | | {known} |")
        for name, features in strangers.items():
            values = typical(features)
            print(
                f"| {name} | {(families == family).sum() or ''} | {auroc(seen, values):.3f} | "
                f"{auroc(unseen, values):.3f} | {100 * rule.rejects(values).mean():.1f} | {known} |"
            )


def study_typicality(dataset, params):
    """Choose on folds how much of the mean score to take off the best, families left out."""
    found = {weight: [] for weight in (0.0, 0.25, 0.5, 0.75, 1.0)}
    for number in range(1, len(dataset.split.folds) + 1):
        fold = dataset.fold(number)
        families = np.array([path[1] for path in fold.classes.taxonomy])
        for family, _ in Counter(families).most_common(FAMILIES):
            world = without_classes(fold, families == family)
            tests = np.concatenate([fold.split.test_seen, fold.split.test_unseen])
            own = families[fold.evaluation_labels(tests)] == family
            model = fitted(world, params)
            parts = [
                model.decision_function(np.asarray(fold.features[part]))
                for part in (world.split.test_seen, world.split.test_unseen, tests[own])
            ]
            for weight, values in found.items():
                seen, unseen, strange = (s.max(axis=1) - weight * s.mean(axis=1) for s in parts)
                values.append((auroc(seen, strange), auroc(unseen, strange)))
    print("\n| mean score taken off | AUROC to seen | to unseen |\n|---:|---:|---:|")
    for weight, values in found.items():
        print("| {} | {:.3f} | {:.3f} |".format(weight, *np.mean(values, axis=0)))


def far_features(near, far, dataset, every=40):
    """Return features of quite other images, and of known ones treated in the same way."""
    birds = {"n01532829", "n01558993", "n01843383", "n01855672"}
    others, known = zerokin.load_dataset(far).images, zerokin.load_dataset(near).images
    chosen = [i for i in range(0, len(others), every) if others.names[i].split("/")[1] not in birds]
    tests = np.concatenate([dataset.split.test_seen, dataset.split.test_unseen])[::every]
    whole = lambda image: center(image, 256, SIDE)  # noqa: E731
    small = lambda image: center(image, SMALL, SMALL).resize((SIDE, SIDE), Image.BICUBIC)  # noqa: E731
    return {
        f"{far.partition('=')[0]}, no birds": extracted(others, chosen, small),
        f"known images at {SMALL} px": extracted(known, tests, small),
        "known images, features made anew": extracted(known, tests, whole),
    }


def center(image, shorter, side):
    scale = shorter / min(image.size)
    image = image.resize([round(scale * length) for length in image.size], Image.BICUBIC)
    left, top = ((length - side) // 2 for length in image.size)
    return image.crop((left, top, left + side, top + side))


def extracted(images, chosen, prepare):
    import torch

    from zerokin.features.networks import create_backbone

    backbone = create_backbone("tf_efficientnet_lite0", weights="packaged").eval()
    rows = []
    with torch.no_grad():
        for start in track(range(0, len(chosen), 32), "features", total=-(-len(chosen) // 32)):
            batch = np.stack(
                [np.asarray(prepare(images.load(int(i)))) for i in chosen[start : start + 32]]
            )
            rows.append(backbone(torch.from_numpy(batch).permute(0, 3, 1, 2)).features.numpy())
    return np.concatenate(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--figure")
    parser.add_argument("--near", help="images of the same data set")
    parser.add_argument("--far", help="a data set of other images")
    parser.add_argument("--only", choices=["answers", "novelty"])
    arguments = parser.parse_args()
    dataset = zerokin.load_dataset(arguments.data)
    balance = ClassFoldSearch(AsGiven(), quiet=True).fit(dataset).best_seen_penalty_
    params = {"seen_penalty": balance}
    print(f"seen_penalty {balance:.4f}")
    if arguments.only != "novelty":
        study_answers(dataset, params, arguments.figure)
    if arguments.only != "answers":
        study_typicality(dataset, params)
        study_novelty(dataset, params, arguments.near, arguments.far)


if __name__ == "__main__":
    main()
