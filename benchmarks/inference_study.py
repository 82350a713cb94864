"""How the hierarchy can help at inference: superclass recall and accuracy on validation classes.

    python benchmarks/inference_study.py xlsa17=DIR

Everything is measured on the validation folds of the seen classes; no test class is touched.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

import zerokin
from zerokin.classifiers.hubness import hubness
from zerokin.classifiers.prototypes import PrototypeRule
from zerokin.classifiers.pruning import surviving_classes
from zerokin.classifiers.residual_correction import semantic_kernel, superclass_kernel
from zerokin.features.class_means import class_means
from zerokin.features.scaler import FeatureScaler, unit_length
from zerokin.metrics.accuracy import per_class_top1
from zerokin.projection import FeatureSpectrum, ProjectionLearner

NORMALIZATIONS = {"unit": (0.95, 3.0), "power-whiten3-unit": (0.95, 3.0)}
HUB_WEIGHT, HUB_NEIGHBORS = 0.25, 3
SIMILAR, WIDTH = 9.0, 0.5


class Fold:
    """A fold's features in one normalization, and projections learned on them."""

    def __init__(self, fold, steps, alpha, gamma):
        self.fold, self.alpha, self.gamma = fold, alpha, gamma
        self.Z, self.U, self.S = fold.semantics, fold.unseen, fold.seen
        self.labels = fold.training_labels()
        normalizer = FeatureScaler(steps)
        F = normalizer.fit_transform(np.asarray(fold.features[fold.split.train]), self.labels)
        self.spectrum = FeatureSpectrum(F)
        self.test = unit_length(normalizer.transform(fold.features[fold.split.test_unseen]))
        self.truth = fold.evaluation_labels(fold.split.test_unseen)
        self.means = class_means(F, self.labels, len(self.Z))[self.S]
        self.W = self.project(self.Z, self.labels)

    def project(self, prototypes, labels):
        learner = ProjectionLearner(self.alpha, 0.5, 0.0, self.gamma, learn_semantics=False).fit(
            self.spectrum.features, prototypes, labels=labels, spectrum=self.spectrum
        )
        return learner.W_

    def node_scores(self, tree, layer):
        """Cosines with the projections of a layer's own prototypes, as in the paper."""
        nodes = class_means(self.Z, tree.labels(layer), tree.sizes[layer - 1])
        W = self.project(nodes, tree.labels(layer)[self.labels])
        return self.test @ unit_length(nodes @ W.T).T

    def class_scores(self, kin=None, noise=4.0, hub=False):
        rule = PrototypeRule.learn(
            self.W,
            self.Z[self.S],
            self.means,
            None if kin is None else kin[self.S],
            noise=noise,
        )
        P = rule.prototypes(self.Z, kin)
        off = 0.0
        if hub:
            off = HUB_WEIGHT * hubness(P, unit_length(self.means), n_neighbors=HUB_NEIGHBORS)
        return (self.test @ P.T - off)[:, self.U]

    def accuracy(self, scores):
        return per_class_top1(self.truth, self.U[scores.argmax(axis=1)])

    def recall(self, scores, nodes, k):
        """Share of samples whose true node is among the k best of those with candidates."""
        present = np.unique(nodes[self.U])
        best = np.argsort(-scores[:, present], axis=1)[:, :k]
        return 100 * np.mean((present[best] == nodes[self.truth][:, None]).any(axis=1))


def study(fold, branching, accuracies, recalls):
    trees = {
        method: zerokin.ClassHierarchy.from_semantics(fold.Z, branching, 0, method=method)
        for method in ("kmeans", "agglomerative")
    }
    tree = trees["kmeans"]
    flat = fold.class_scores()
    layers = [fold.node_scores(tree, layer) for layer in range(1, tree.n_layers + 1)]
    for layer, scores in enumerate(layers, start=1):
        nodes = tree.labels(layer)
        best = np.full(scores.shape, -np.inf)
        for node in np.unique(nodes[fold.U]):
            best[:, node] = flat[:, nodes[fold.U] == node].max(axis=1)
        for k in (1, 3, 5):
            recalls[layer, "own projection", k].append(fold.recall(scores, nodes, k))
            recalls[layer, "best class below", k].append(fold.recall(best, nodes, k))
    accuracies["flat search"].append(fold.accuracy(flat))
    for keep in (1, 2, 3, 5, 8):
        alive = surviving_classes(layers, tree, fold.U, keep=keep)
        name = f"the paper's rule, top {keep}"
        accuracies[name].append(fold.accuracy(np.where(alive, flat, -np.inf)))
    for weight in (0.05, 0.1, 0.2):
        soft = flat + sum(
            weight * scores[:, tree.labels(layer)[fold.U]]
            for layer, scores in enumerate(layers, start=1)
        )
        accuracies[f"soft sum of layer scores, weight {weight}"].append(fold.accuracy(soft))
    for weight in (0.05, 0.1, 0.2):
        soft = flat.copy()
        for layer, scores in enumerate(layers, start=1):
            spread = scores.std(axis=1, keepdims=True)
            levelled = (scores - scores.mean(axis=1, keepdims=True)) / spread
            soft += (
                weight * flat.std(axis=1, keepdims=True) * levelled[:, tree.labels(layer)[fold.U]]
            )
        accuracies[f"soft sum, layers normalized, weight {weight}"].append(fold.accuracy(soft))
    for method, one in trees.items():
        kin = superclass_kernel(one, decay=0.5)[:, fold.S]
        accuracies[f"superclass offsets ({method})"].append(fold.accuracy(fold.class_scores(kin)))
    near = SIMILAR * semantic_kernel(fold.Z, fold.Z[fold.S], width=WIDTH)
    tree_kin = superclass_kernel(trees["agglomerative"], decay=0.5)[:, fold.S]
    accuracies["offsets by similar semantics"].append(
        fold.accuracy(fold.class_scores(near, noise=1.0))
    )
    accuracies["both offsets"].append(fold.accuracy(fold.class_scores(near + tree_kin, noise=1.0)))
    accuracies["flat search, hubness corrected"].append(fold.accuracy(fold.class_scores(hub=True)))
    for method, one in trees.items():
        kin = superclass_kernel(one, decay=0.5)[:, fold.S]
        scores = fold.class_scores(kin, hub=True)
        accuracies[f"superclass offsets ({method}), hubness corrected"].append(
            fold.accuracy(scores)
        )
    accuracies["offsets by similar semantics, hubness corrected"].append(
        fold.accuracy(fold.class_scores(near, noise=1.0, hub=True))
    )
    accuracies["both offsets, hubness corrected"].append(
        fold.accuracy(fold.class_scores(near + tree_kin, noise=1.0, hub=True))
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("--branching", type=int, default=2)
    arguments = parser.parse_args()
    dataset = zerokin.load_dataset(arguments.data)
    folds = [dataset.fold(k + 1) for k in range(len(dataset.split.folds))]
    for steps, (alpha, gamma) in NORMALIZATIONS.items():
        accuracies, recalls = defaultdict(list), defaultdict(list)
        for fold in folds:
            study(Fold(fold, steps, alpha, gamma), arguments.branching, accuracies, recalls)
        print(f"\n{steps}, alpha {alpha}, gamma {gamma}, t = {arguments.branching}\n")
        print("| recall of the true superclass | k |", end="")
        depth = max(layer for layer, _, _ in recalls)
        print("".join(f" layer {layer} |" for layer in range(1, depth + 1)))
        print("|---|---:|" + "---:|" * depth)
        for kind in ("own projection", "best class below"):
            for k in (1, 3, 5):
                cells = (f"{np.mean(recalls[n, kind, k]):.1f}" for n in range(1, depth + 1))
                print(f"| {kind} | {k} | {' | '.join(cells)} |")
        print("\n| inference | fold 1 | fold 2 | fold 3 | mean |\n|---|---:|---:|---:|---:|")
        for name, values in accuracies.items():
            cells = " | ".join(f"{value:.1f}" for value in values)
            print(f"| {name} | {cells} | {np.mean(values):.1f} |")


if __name__ == "__main__":
    main()
