"""Learning from a teacher's answers, beside the labels."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import zerokin
from training_parts import (
    PARENTS,
    SIDE,
    furthest,
    labels,
    network,
    recipe,
    source,
    targets,
    weights,
)
from zerokin.errors import InvalidInput
from zerokin.features.feature_learner import FeatureLearner
from zerokin.features.input import open_source, training_view
from zerokin.features.networks import FeatureNetwork, HierarchyHead, read_weights
from zerokin.features.training import Recipe, Targets, train
from zerokin.features.training.checkpoint import load_checkpoint
from zerokin.features.training.distillation import distillation_loss
from zerokin.features.training.rng import augmentation_generator
from zerokin.features.training.run import TrainingRun


def learn(learned, settings, labeled=None, **options):
    given = source(), labeled or targets(), settings
    return train(learned, *given, **{"device": "cpu", "quiet": True, **options})


def taught(**settings):
    return recipe(**{"distillation": 0.6, **settings})


def trained_teacher(**made):
    """Return a network other than the one that learns, with statistics of its own."""
    teacher = network(**{"head": "classes", "seed": 7, **made})
    learn(teacher, recipe(epochs=1, lr=0.05))
    return teacher


def softmax(logits):
    e = np.exp(logits)
    return e / e.sum(axis=1, keepdims=True)


def divergence(teacher, student, T):
    """T² Σ p (log p − log q), averaged over the batch."""
    p, q = softmax(teacher / T), softmax(student / T)
    return T**2 * np.mean((p * (np.log(p) - np.log(q))).sum(axis=1))


def doubles(logits):
    return logits.detach().double().numpy()


@pytest.mark.parametrize("T", [1.0, 4.0])
def test_the_divergence_and_its_gradient_are_those_of_the_formula(T):
    rng = np.random.default_rng(0)
    teacher, student = rng.normal(size=(2, 5, 3)) * 3
    given = torch.from_numpy(student).requires_grad_()
    loss = distillation_loss(given, torch.from_numpy(teacher), T)
    loss.backward()
    assert loss.item() == pytest.approx(divergence(teacher, student, T))
    expected = T * (softmax(student / T) - softmax(teacher / T)) / 5
    np.testing.assert_allclose(given.grad.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("turns", [0.0, 0.7])
def test_the_loss_is_shared_between_labels_and_a_teacher_that_sees_the_same_view(turns):
    learned, teacher = network(head="superclass-heads"), trained_teacher(dropout=0.5).train()
    settings = taught(rotation_weight=turns, temperature=3.0)
    run = TrainingRun(
        learned, source(), targets(), settings, None, "cpu", origin=None, teacher=teacher
    )
    rows = np.array([3, 17, 8, 1, 20, 11])
    shown = source().batch(rows)
    run.shared.train()
    losses = run.learn_from(shown, rows, step=5, part=0)

    drawn = settings.augmentation.draw(6, augmentation_generator(seed=0, step=5))
    view = training_view(shown, drawn, SIDE).numpy()
    if turns:
        quarters = (0, 1, 0, 2, 0, 3)
        view = np.stack([np.rot90(v, k, axes=(1, 2)) for v, k in zip(view, quarters, strict=True)])
    outputs = learned(torch.from_numpy(view))
    student, above = doubles(outputs.classes), doubles(outputs.layers[0])
    wanted = labels(24)[rows]
    every = np.arange(6)
    expected = {
        "classes": -np.log(softmax(student)[every, wanted]).mean(),
        "layer 1": -np.log(softmax(above)[every, PARENTS[wanted]]).mean(),
        "distillation": divergence(
            doubles(teacher.eval()(torch.from_numpy(view)).classes), student, 3.0
        ),
    }
    expected["total"] = (
        0.4 * expected["classes"] + 0.6 * expected["distillation"] + 0.3 * expected["layer 1"]
    )
    if turns:  # the layer starts from zeros: all four are alike
        expected["rotation"] = np.log(4)
        expected["total"] += turns * np.log(4)
    found = {name: float(value) for name, value in losses.items()}
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_teacher_alone_makes_labels_of_classes_meaningless():
    ends = []
    for shift in (0, 1):
        learned = network(head="classes")
        labeled = Targets(np.roll(labels(24), shift), targets().layers)
        learn(learned, taught(distillation=1.0), labeled, teacher=trained_teacher())
        ends.append(weights(learned))
    assert furthest(ends[0], weights(network(head="classes"))) > 1e-2
    assert furthest(*ends) == 0


def test_a_semantic_head_learns_from_a_teacher_too():
    learned = network(head="end-to-end")
    history = learn(learned, taught(epochs=6, lr=0.02), teacher=trained_teacher(head="end-to-end"))
    assert history[-1].loss["distillation"] < history[0].loss["distillation"]


def test_a_teacher_is_left_as_it_was():
    teacher = trained_teacher()
    before = weights(teacher)
    learn(network(), taught(), teacher=teacher)
    assert furthest(before, weights(teacher)) == 0
    assert all(weight.grad is None for weight in teacher.parameters())
    assert not teacher.training


def test_a_teacher_computes_with_the_numbers_of_the_one_it_teaches():
    teacher, seen = trained_teacher(), []
    hook = teacher.head.class_head.register_forward_hook(lambda *given: seen.append(given[2].dtype))
    learn(network(), taught(epochs=1, precision="bfloat16", rotation_weight=0.5), teacher=teacher)
    hook.remove()
    assert set(seen) == {torch.bfloat16}


@pytest.mark.parametrize("cut", [2, 3])
def test_parts_of_a_batch_add_up_to_it(cut):
    ends = []
    for accumulation in (1, cut):
        learned = network(normalized=False)
        settings = taught(accumulation=accumulation, rotation_weight=0.8, batch_size=12, lr=0.05)
        learn(learned, settings, teacher=trained_teacher())
        ends.append(weights(learned))
    assert furthest(ends[0], weights(network(normalized=False))) > 1e-2
    assert furthest(*ends) < 1e-6


def other_classes():
    backbone = network().backbone
    return FeatureNetwork(backbone, HierarchyHead(8, 5, [], mode="classes"))


@pytest.mark.parametrize(
    ("settings", "teacher", "message"),
    [
        (taught(), None, r"distillation 0\.6 needs a teacher: give a trained network"),
        (recipe(), network(), "there is a teacher, but distillation is 0: set it"),
        (taught(), other_classes(), "the teacher knows 5 classes, but there are 4 to learn"),
    ],
)
def test_a_teacher_and_a_recipe_that_do_not_fit_are_refused(settings, teacher, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        learn(network(), settings, teacher=teacher)
    assert "\n" not in str(caught.value)


def test_a_network_cannot_teach_itself_while_it_learns():
    learned = network()
    with pytest.raises(InvalidInput, match="the teacher is the network that learns"):
        learn(learned, taught(), teacher=learned)


def test_a_checkpoint_of_another_teacher_is_refused(tmp_path):
    teacher = trained_teacher()
    learn(network(), taught(), teacher=teacher, folder=tmp_path)
    _, state = load_checkpoint(tmp_path / "checkpoint.safetensors")
    finished = learn(network(), taught(), teacher=trained_teacher(), folder=tmp_path)
    assert len(finished) == 3  # the same teacher, made again: at once
    teacher.backbone.model[1].running_mean += 1  # no weight, but its answers depend on it
    with pytest.raises(InvalidInput, match=rf"\(teacher {state['fingerprint']['teacher']} there"):
        learn(network(), taught(), teacher=teacher, folder=tmp_path)
    with pytest.raises(InvalidInput, match=r"\(distillation 0\.6 there, 0\.0 here\)"):
        learn(network(), recipe(), folder=tmp_path)


def test_a_learner_is_taught_by_another_and_saved_without_what_only_training_needs(tmp_path):
    critters = zerokin.load_dataset("critters").fold(1)
    once = {"epochs": 1, "batch_size": 256, "image_size": 16}

    def made(**settings):
        options = {"weights": None, "options": {"width": 4}, "image_size": 16, "device": "cpu"}
        return FeatureLearner("conv4", "classes", recipe=Recipe(**once, **settings), **options)

    teacher = made()
    student = made(distillation=0.5, rotation_weight=0.5, seed=1)
    noise = np.random.default_rng(0).integers(0, 256, (len(critters), 16, 16, 3))
    images = open_source(noise.astype(np.uint8), 16, quiet=True)  # quicker than drawing critters
    with pytest.raises(InvalidInput, match="the teacher is not fitted yet"):
        student.fit(critters, source=images, teacher=teacher)
    teacher.fit(critters, source=images)
    with pytest.raises(InvalidInput, match="there is a teacher, but distillation is 0"):
        made().fit(critters, source=images, teacher=teacher)
    student.fit(critters, source=images, teacher=teacher)
    assert {"classes", "distillation", "rotation"} < student.history_[0].loss.keys()
    student.save(tmp_path)
    assert not [k for k in read_weights(tmp_path / "network.safetensors") if "rotation" in k]
    assert json.loads((tmp_path / "features.json").read_text())["recipe"]["rotation_weight"] == 0.5
    again = FeatureLearner.load(tmp_path, device="cpu")
    assert again.recipe == student.recipe
    shown = images.select(np.arange(3))
    assert np.array_equal(again.transform(shown), student.transform(shown))


def test_a_teacher_of_as_many_other_classes_is_refused(tmp_path):
    critters = zerokin.load_dataset("critters")
    settings = {"weights": None, "options": {"width": 4}, "image_size": 16, "device": "cpu"}
    plain = zerokin.FeatureLearner("conv4", "classes", recipe=Recipe(epochs=0), **settings)
    plain.fit(critters.fold(1)).save(tmp_path / "teacher")
    teacher = zerokin.FeatureLearner.load(tmp_path / "teacher", device="cpu")
    folds = [critters.fold(number) for number in (1, 2)]
    assert len(folds[0].seen) == len(folds[1].seen)
    assert teacher.classes_ == [folds[0].classes.names[index] for index in folds[0].seen]
    learner = zerokin.FeatureLearner(
        "conv4", "classes", recipe=Recipe(epochs=0, distillation=0.5), **settings
    )
    learner.fit(folds[0], teacher=teacher)
    with pytest.raises(InvalidInput, match="the teacher learned other classes than these, such as"):
        learner.fit(folds[1], teacher=teacher)
    teacher.classes_ = None  # as networks of earlier versions are read
    learner.fit(folds[1], teacher=teacher)
