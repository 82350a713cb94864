"""Episodic training: prototypical networks (Snell et al. 2017)."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import zerokin
from own_images import write_critter_folder
from training_parts import EPISODES, SIDE, furthest, network, recipe, source, targets
from zerokin.benchmark.ablation import zero_shot
from zerokin.benchmark.ablation.config import parse_config
from zerokin.benchmark.few_shot import draw_episodes
from zerokin.benchmark.few_shot.peers.prototypical import Prototypical
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input import Augmentation, open_source, training_view
from zerokin.features.network_config import parse_network
from zerokin.features.networks import FeatureNetwork, PrototypicalHead
from zerokin.features.training import Recipe, Targets, train
from zerokin.features.training.episode_sampler import EpisodeSampler, check_head
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.run import TrainingRun
from zerokin.recognizer import fit_recognizer

SEED = 11


def drawn(seed):
    """Return way, shots, queries and width of some episodes, none of them round."""
    rng = np.random.default_rng(seed)
    return (int(rng.integers(low, high)) for low, high in ((2, 9), (1, 6), (1, 8), (3, 40)))


def softmax_of_distances(F, way, shots):
    """Return probabilities (W · Q, W) by Snell et al., a query and a prototype at a time."""
    F = F.reshape(way, -1, F.shape[1]).astype(np.float64)
    prototypes = [F[k, :shots].mean(axis=0) for k in range(way)]
    found = []
    for query in F[:, shots:].reshape(-1, F.shape[2]):
        near = np.exp([-((query - prototype) ** 2).sum() for prototype in prototypes])
        found.append(near / near.sum())
    return np.array(found)


@pytest.mark.parametrize("seed", range(6))
def test_logits_are_the_papers_formula(seed):
    way, shots, queries, d_f = drawn(seed)
    F = np.random.default_rng(seed).normal(0, 0.7, (way * (shots + queries), d_f))
    logits = PrototypicalHead(d_f, way, shots)(torch.from_numpy(F)).classes
    expected = softmax_of_distances(F, way, shots)
    assert logits.shape == (way * queries, way)
    np.testing.assert_allclose(logits.softmax(dim=1), expected, atol=1e-12)


def test_distances_are_exact_under_mixed_precision():
    F = 30 + torch.randn(3 * 4, 64, generator=torch.Generator().manual_seed(0))
    head = PrototypicalHead(64, way=3, shots=2)
    with torch.autocast("cpu", torch.bfloat16):
        found = head(F).classes
    assert torch.equal(found, head(F).classes)


@pytest.mark.parametrize("seed", range(4))
def test_the_peer_scores_as_the_network_learned(seed):
    way, shots, queries, d_f = drawn(seed)
    F = np.random.default_rng(seed).normal(0, 0.7, (way, shots + queries, d_f))
    asked = F[:, shots:].reshape(1, -1, d_f)
    scores = Prototypical().scores(F[None, :, :shots], asked)[0]
    logits = PrototypicalHead(d_f, way, shots)(torch.from_numpy(F.reshape(-1, d_f))).classes
    np.testing.assert_allclose(2 * scores, logits, atol=1e-10)


def test_loss_and_gradient_of_a_step_are_those_of_the_formula():
    settings = recipe(episode_way=2, episode_shots=2, episode_queries=3)
    learned, expected = (
        FeatureNetwork(network().backbone, PrototypicalHead(8, 2, 2)) for _ in range(2)
    )
    run = TrainingRun(learned, source(), targets(), settings, None, "cpu")
    step, part, rows = next(run.sampler.of_epoch(0, first=1))
    shown = source().batch(rows)
    run.shared.train()
    found = run.learn_from(shown, rows, step=step, part=part)

    view = settings.augmentation.draw(10, augmentation_generator(seed=0, step=step))
    F = expected.train().features(training_view(shown, view, SIDE)).view(2, 5, 8)
    distances = (F[:, 2:].flatten(0, 1)[:, None] - F[:, :2].mean(1)[None]).square().sum(2)
    loss = distances[torch.arange(6), torch.arange(6) // 3] + (-distances).logsumexp(1)
    loss.mean().backward()
    assert float(found["total"]) == pytest.approx(loss.mean().item(), abs=1e-5)
    wanted = {name: weight.grad for name, weight in expected.named_parameters()}
    assert max(gradient.abs().max() for gradient in wanted.values()) > 1e-3
    for name, weight in learned.named_parameters():
        torch.testing.assert_close(weight.grad, wanted[name], atol=1e-5, rtol=1e-4)


def uneven(seed):
    """Return classes of shuffled images, at least nine of each and not the same number."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.repeat(np.arange(7), rng.integers(9, 23, 7)))


@pytest.mark.parametrize("seed", range(3))
def test_episodes_have_what_was_asked_for(seed):
    classes = uneven(seed)
    settings = Recipe(episode_way=5, episode_shots=2, episode_queries=7, seed=seed)
    episodes = EpisodeSampler(classes, settings)
    assert episodes.per_epoch == len(classes) // 45
    every = [
        rows
        for epoch in range(30)
        for *_, rows in episodes.of_epoch(epoch, first=epoch * episodes.per_epoch)
    ]
    assert len(every) == 30 * episodes.per_epoch
    for rows in every:
        assert len(set(rows.tolist())) == 45
        shown = classes[rows].reshape(5, 9)
        assert (shown == shown[:, :1]).all()
        assert len(set(shown[:, 0].tolist())) == 5
    assert episodes.labels.tolist() == [k // 7 for k in range(35)]


def test_every_image_comes_equally_often_to_every_place():
    counts = np.array([4, 6, 5])
    classes = np.random.default_rng(SEED).permutation(np.repeat(np.arange(3), counts))
    settings = Recipe(episode_way=2, episode_shots=1, episode_queries=2, seed=SEED)
    episodes = EpisodeSampler(classes, settings)
    steps = 6000
    times = np.zeros((len(classes), 3))
    for step in range(steps):
        for place, rows in enumerate(episodes.draw(step).reshape(2, 3).T):
            times[rows, place] += 1
    expected = steps * 2 / 3 / counts[classes]
    # Binomial counts: five standard deviations.
    assert (np.abs(times - expected[:, None]) < 5 * np.sqrt(expected)[:, None]).all()


def test_episodes_depend_on_seed_and_step_alone():
    classes = uneven(0)
    settings = Recipe(episode_way=3, episode_shots=1, episode_queries=4)
    there, here = (EpisodeSampler(classes, settings) for _ in range(2))
    of_epoch = [rows.tolist() for *_, rows in there.of_epoch(2, first=2 * there.per_epoch)]
    resumed = [rows.tolist() for *_, rows in here.of_epoch(2, first=2 * here.per_epoch + 2)]
    assert len(of_epoch) > 3
    assert resumed == of_epoch[2:]
    other = EpisodeSampler(classes, replace(settings, seed=1))
    assert other.draw(0).tolist() != there.draw(0).tolist()
    assert len({tuple(there.draw(step)) for step in range(50)}) == 50


def stripes(angles, n, seed):
    """Return n images of stripes at each angle, whose colors and phases say nothing of it."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(angles)), n)
    y, x = np.mgrid[:20, :20]
    across = np.cos(angles)[labels, None, None] * x + np.sin(angles)[labels, None, None] * y
    waves = 40 * np.sin(across * 1.5 + rng.uniform(0, 2 * np.pi, (len(labels), 1, 1)))
    shown = rng.integers(60, 190, (len(labels), 1, 1, 3)) + waves[..., None]
    return shown.round().astype(np.uint8), labels


def accuracy(trained, angles):
    """Return 4-way 1-shot accuracy on new images of some angles, %."""
    shown, labels = stripes(angles, 30, seed=9)
    batch = open_source(shown, 20, quiet=True).batch(np.arange(len(labels)))
    with torch.no_grad():
        F = trained.eval().features(batch).numpy()
    episodes = draw_episodes(labels, way=4, shots=1, queries=7, episodes=300, random_state=0)
    asked = F[episodes.queries.reshape(len(episodes), -1)]
    scores = Prototypical().scores(F[episodes.shots], asked)
    return 100 * (scores.argmax(axis=2) == episodes.truth).mean()


def test_training_raises_accuracy_on_classes_that_it_has_not_seen():
    angles = np.pi * np.arange(10) / 10
    base, novel = np.delete(angles, [1, 4, 6, 9]), angles[[1, 4, 6, 9]]
    shown, labels = stripes(base, 20, seed=0)
    settings = Recipe(
        epochs=20,
        lr=0.02,
        episode_way=5,
        episode_shots=1,
        episode_queries=3,
        image_size=20,
        augmentation=Augmentation(area=(1.0, 1.0), ratio=(1.0, 1.0), mirror=False),
    )
    made = [FeatureNetwork(network().backbone, PrototypicalHead(8, 5, 1)) for _ in range(2)]
    history = train(
        made[0],
        open_source(shown, 20, quiet=True),
        Targets(labels, np.zeros((len(labels), 0), np.int64)),
        settings,
        device="cpu",
        quiet=True,
    )
    assert history[-1].loss["total"] < 0.7 * history[0].loss["total"]
    assert accuracy(made[0], novel) > accuracy(made[1], novel) + 15


def test_no_step_reads_more_or_less_than_the_recipe_says():
    history = train(
        network(head="prototypical"),
        source(),
        targets(),
        recipe(**EPISODES, batch_size=999),
        device="cpu",
        quiet=True,
    )
    assert [epoch.step for epoch in history] == [4, 8, 12]
    assert set(history[0].loss) == {"total", "classes"}


REFUSED = {
    "cutmix_prob 0.5 is for batches": {"cutmix_prob": 0.5},
    "manifold_mixup 2.0 is for batches": {"manifold_mixup": 2.0},
    "rotation_weight 0.5 is for batches": {"rotation_weight": 0.5},
    "distillation 0.5 is for batches": {"distillation": 0.5},
    "accumulation 2 would cut up episodes": {"accumulation": 2},
    "episode_way must be": {"episode_way": 1},
    "episode_shots must be": {"episode_shots": 0},
    "episode_shots 1 needs episode_way": {"episode_way": None, "episode_shots": 1},
    "episode_queries 4 needs episode_way": {"episode_way": None, "episode_queries": 4},
}


@pytest.mark.parametrize("line", REFUSED)
def test_recipes_that_do_not_fit_are_refused(line):
    with pytest.raises(InvalidInput, match=line):
        Recipe(**{"episode_way": 20, **REFUSED[line]})


@pytest.mark.parametrize(
    ("mode", "given", "line"),
    [
        ("prototypical", {}, "learns from episodes: set episode_way"),
        (
            "classes",
            {"episode_way": 5},
            "episode_way 5 needs the mode prototypical: it is 'classes'",
        ),
    ],
)
def test_modes_that_do_not_fit_are_refused_before_anything_is_read(mode, given, line):
    with pytest.raises(InvalidInput, match=line):
        FeatureLearner("conv4", mode, weights=None, recipe=Recipe(**given))
    with pytest.raises(InvalidInput, match=line):
        parse_network("mine", {"backbone": "conv4", "weights": None, "mode": mode, "recipe": given})
    head = "prototypical" if mode == "prototypical" else "classes"
    with pytest.raises(InvalidInput, match=line):
        train(network(head=head), source(), targets(), recipe(**given), device="cpu", quiet=True)


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """Six seen classes of five training images each."""
    folder = tmp_path_factory.mktemp("own") / "animals"
    return zerokin.load_dataset(f"folder={write_critter_folder(folder, n_seen=6, n_images=5)}")


def learner(**settings):
    settings = {"epochs": 1, "image_size": 16, "lr": 0.01, **EPISODES, **settings}
    return FeatureLearner(
        "conv4",
        "prototypical",
        weights=None,
        options={"width": 4},
        image_size=16,
        recipe=Recipe(**settings),
        device="cpu",
    )


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"episode_way": 7}, "episodes of 7 classes are more than the 6 to learn from"),
        ({"episode_queries": 5}, "1 shots and 5 queries need 6 images of a class, but class '"),
    ],
)
def test_images_that_fill_no_episode_are_refused_before_they_are_opened(
    given, line, animals, monkeypatch
):
    monkeypatch.setattr(FeatureLearner, "_open", None)
    with pytest.raises(InvalidInput, match=line) as refused:
        learner(**given).fit(animals)
    if "class '" in line:
        assert repr(animals.classes.names[animals.seen[0]]) in str(refused.value)


def test_folds_that_fill_no_episode_are_refused_before_anything_is_read(animals, monkeypatch):
    def opened(*_, **__):
        raise AssertionError("images are read")

    monkeypatch.setattr("zerokin.recognizer.network_features.open_source", opened)
    monkeypatch.setattr("zerokin.benchmark.ablation.feature_cache.open_source", opened)
    line = "episodes of 6 classes are more than the . to learn from"
    with pytest.raises(InvalidInput, match=line):
        fit_recognizer(animals, learner=learner(episode_way=6), finetune=True, quiet=True)
    network = {"backbone": "conv4", "weights": None, "mode": "prototypical"}
    config = parse_config(
        {
            "networks": {"episodes": {**network, "recipe": {"episode_way": 6}}},
            "rows": [{"name": "episodes", "networks": ["episodes"]}],
        }
    )
    with pytest.raises(InvalidInput, match=line):
        zero_shot.check(animals, config, validation_only=True)
    with pytest.raises(AssertionError, match="images are read"):
        fit_recognizer(
            animals,
            learner=learner(episode_way=6),
            finetune=True,
            fold_networks=False,
            quiet=True,
        )


def test_processes_and_other_heads_are_refused():
    head = PrototypicalHead(8, 3, 2)
    with pytest.raises(InvalidInput, match="cannot be shared by 2 processes"):
        check_head(head, Recipe(episode_way=3, episode_shots=2), processes=2)
    with pytest.raises(InvalidInput, match="3-way 2-shot episodes, but the recipe draws 4-way 5"):
        check_head(head, Recipe(episode_way=4), processes=1)
    with pytest.raises(InvalidInput, match="as many images of each, above 2 shots: got 6"):
        head(torch.zeros(6, 8))
    with pytest.raises(InvalidInput, match="way must be at least 2"):
        PrototypicalHead(8, 1, 1)


def test_it_teaches_nobody():
    with pytest.raises(InvalidInput, match="the teacher knows 0 classes"):
        train(
            network(),
            source(),
            targets(),
            recipe(distillation=0.5),
            device="cpu",
            quiet=True,
            teacher=network(head="prototypical"),
        )


def test_another_way_is_another_training(tmp_path):
    options = {"folder": tmp_path, "device": "cpu", "quiet": True}
    settings = recipe(**EPISODES, epochs=1)
    train(network(head="prototypical"), source(), targets(), settings, **options)
    other = replace(settings, episode_queries=2)
    with pytest.raises(InvalidInput, match="episode_queries 1 there, 2 here"):
        train(network(head="prototypical"), source(), targets(), other, **options)


def test_what_was_saved_reads_the_same_features(animals, tmp_path):
    fitted = learner().fit(animals)
    assert fitted.hierarchy_ is None
    fitted.save(tmp_path / "model")
    again = FeatureLearner.load(tmp_path / "model", device="cpu")
    assert np.array_equal(again.transform(animals.images), fitted.transform(animals.images))
    assert again.recipe == fitted.recipe
    head = json.loads((tmp_path / "model" / "features.json").read_text(encoding="utf-8"))["head"]
    assert head == {"kind": "prototypical", "way": 3, "shots": 1}
    assert furthest(fitted.network_.state_dict(), again.network_.state_dict()) == 0


def test_validation_classes_tell_when_to_stop(animals, tmp_path):
    options = {"validation_fold": 1, "patience": 1, "folder": tmp_path}
    fitted = learner(epochs=3, episode_way=2).fit(animals, **options)
    assert all(0 <= epoch.validation <= 100 for epoch in fitted.history_)
    fold = animals.fold(1)
    assert fitted.classes_ == [fold.classes.names[c] for c in fold.seen]
    assert len(fitted.classes_) < 6
