"""Novel and base classes together: the curve, the seen penalty, and what may be looked at."""

from __future__ import annotations

import numpy as np
import pytest

from builders import write_xlsa17_folder
from few_shot_data import clustered_dataset
from zerokin.benchmark.few_shot import EpisodePlan, FewShotEvaluation
from zerokin.benchmark.few_shot.comparison import measure_few_shot
from zerokin.benchmark.few_shot.generalized import (
    GENERALIZED,
    GeneralizedFewShotEvaluation,
    NearestMean,
)
from zerokin.errors import InvalidInput
from zerokin.report.few_shot import few_shot_lines

DATASET = clustered_dataset(per_class=15, noise=1.2)
PLAN = EpisodePlan(way=5, shots=2, queries=6, episodes=6, validation_episodes=10)


def evaluation(dataset=DATASET, **options):
    return GeneralizedFewShotEvaluation(FewShotEvaluation(dataset, PLAN, quiet=True, **options))


def test_metrics_by_a_plain_count():
    """The same accuracies, from predictions of prototypes made here, at the row's seen penalty."""
    measured = evaluation()
    row, _ = measured.run(NearestMean())
    steps, seen_penalty = row.selection["feature_scaling"], row.selection["seen_penalty"]
    test = measured.test
    from zerokin.benchmark.few_shot import draw_episodes
    from zerokin.features.scaler import FeatureScaler, unit_length

    normalizer = FeatureScaler(steps).fit(test.data.features, test.data.labels)
    base, held, novel = (
        unit_length(normalizer.transform(F))
        for F in (test.data.features, test.base_features, test.novel_features)
    )
    drawn = draw_episodes(test.novel_labels, way=7, shots=2, queries=1, episodes=6)
    figures = []
    for classes, shown in zip(drawn.classes, drawn.shots, strict=True):
        means = {c: base[test.data.labels == c].mean(axis=0) for c in range(12)}
        means |= {c: novel[of].mean(axis=0) for c, of in zip(classes, shown, strict=True)}

        def named(f, means=means):
            score = {
                c: f @ m / np.linalg.norm(m) - (seen_penalty if c < 12 else 0)
                for c, m in means.items()
            }
            return max(score, key=score.get)

        def accuracy(F, truth, classes, named=named):
            right = np.array([named(f) for f in F]) == truth
            return 100 * np.mean([right[truth == c].mean() for c in classes])

        asked = np.setdiff1d(np.arange(len(novel)), shown)
        seen = accuracy(held, test.base_labels, range(12))
        unseen = accuracy(novel[asked], test.novel_labels[asked], classes)
        figures.append((seen, unseen, 2 * seen * unseen / (seen + unseen)))
    expected = np.mean(figures, axis=0)
    found = [row.metrics[name] for name in ("seen", "unseen", "harmonic_mean")]
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("base", ["training", "seen"])
def test_base_samples_are_either_learned_from_or_tested_on(base):
    test = evaluation(base=base).test
    n_base = 12 if base == "training" else 18
    assert len(test.data.labels) == n_base * 12
    assert len(test.base_labels) == n_base * 3  # a fifth of 15
    rows = {row.tobytes() for row in test.data.features}
    assert not rows & {row.tobytes() for row in test.base_features}


def test_test_classes_have_no_say_in_the_calibration():
    features = DATASET.features.copy()
    features[DATASET.split.test_unseen] += 3
    rows = [evaluation(d).run(NearestMean())[0] for d in (DATASET, DATASET.with_inputs(features))]
    assert rows[0].selection == rows[1].selection
    assert rows[0].metrics != rows[1].metrics


def test_semantics_help_and_the_table_shows_it():
    class Quick(GENERALIZED["ours"]):
        stages = ([{"feature_scaling": "center-unit", "kappa": k} for k in (0.5, 1.0, 2.0)],)

    measured = evaluation()
    rows = [measured.run(method)[0].as_dict() for method in (NearestMean(), Quick())]
    assert rows[1]["metrics"]["harmonic_mean"] > rows[0]["metrics"]["harmonic_mean"]
    headings, lines = few_shot_lines(rows)
    assert headings == ["method", "2-shot U", "2-shot S", "2-shot H"]
    assert [line[0] for line in lines] == ["nearest-mean", "ours"]


def test_all_novel_classes_are_tested_even_if_they_are_fewer_than_an_episode_has(tmp_path):
    folder = write_xlsa17_folder(tmp_path / "made", n_classes=12, n_unseen=3, per_class=8)
    few = {"shots": [1], "queries": 3, "episodes": 2}
    measured = measure_few_shot(f"xlsa17={folder}", ["nearest-mean"], [0], generalized=True, **few)
    assert [row.metrics["way"] for row, _ in measured] == [3]
    with pytest.raises(InvalidInput, match="5-way episodes need 5 classes"):
        next(measure_few_shot(f"xlsa17={folder}", ["simple-shot"], [0], **few))
