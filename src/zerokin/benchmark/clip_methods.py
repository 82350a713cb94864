"""CLIP by itself beside ours: plain zero-shot naming, and with superclasses (CHiLS)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isqrt
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerokin.classifiers.nearest_prototype import cosine_scores
from zerokin.data.dataset import Dataset
from zerokin.data.native_features import NativeFeatures
from zerokin.errors import InvalidInput
from zerokin.hierarchy import ClassHierarchy
from zerokin.selection.method import Method, Params, Scorer, Stage, TrainingData, product_of
from zerokin.semantics.clip_models import CLIPS, OPEN_CLIP, full_name
from zerokin.semantics.clip_text import DEFAULT_CLIP


class ClipZeroShot(Method):
    """The class whose text embedding is nearest to the image's by cosine.

    Radford et al., Learning Transferable Visual Models From Natural Language Supervision, ICML
    2021. Nothing is learned here; a penalty of seen classes is chosen for the generalized setting,
    as for every method.
    """

    name = "clip"
    defaults: Params = MappingProxyType({})
    stages: Sequence[Stage] = ([{}],)

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Yield cosines for every trial."""
        for _ in trials:
            yield lambda features: _cosines(features, data.semantics)

    def refuse(self, dataset: Dataset) -> None:
        """Refuse features and class vectors that are not of one and the same CLIP."""
        refuse_other_spaces(dataset, self.name)


class Chils(ClipZeroShot):
    """CHiLS with our hierarchy: a class counts by itself and by its superclass.

    Novack et al., CHiLS: Zero-Shot Image Classification with Hierarchical Label Sets, ICML 2023,
    weight the probability of a subclass by that of its class, p(parent | x) · p(class | x). There
    classes are named through subclasses; here classes are named, and their parents are the nodes
    of layer 1, known by the mean of their classes' text embeddings. Both softmaxes run over the
    same cosines at the same temperature: up to a constant of each image, the logarithm of the
    product is the sum of the two cosines, which is the score.
    """

    name = "chils"
    defaults: Params = MappingProxyType({"branching": 2})
    stages: Sequence[Stage] = (product_of(branching=[2, 3, 4, 6]),)

    def fit_many(self, data: TrainingData, trials: Sequence[Params]) -> Iterator[Scorer]:
        """Yield the sums of cosines for every trial."""
        Z = data.semantics
        for params in trials:
            parents = self._parents(data, params)
            yield lambda features, parents=parents: (  # type: ignore[misc]
                _cosines(features, Z) + _cosines(features, parents)
            )

    def _parents(self, data: TrainingData, params: Params) -> NDArray[np.float64]:
        """Return the vector of each class's superclass, (C, d)."""
        most = isqrt(len(data.semantics))
        if most < 2:
            raise InvalidInput(f"{self.name} needs at least four classes: use method clip")
        tree = ClassHierarchy.from_semantics(
            data.semantics, min(params["branching"], most), data.random_state
        )
        return tree.prototypes(1)[tree.labels(1)]


class ChilsByTaxonomy(Chils):
    """The same with the superclasses that people made: those right above the classes."""

    name = "chils-taxonomy"
    defaults: Params = MappingProxyType({})
    stages: Sequence[Stage] = ([{}],)

    def _parents(self, data: TrainingData, _params: Params) -> NDArray[np.float64]:
        if data.taxonomy is None:
            raise InvalidInput(
                "this data knows no taxonomy of its classes: use method chils, which clusters them"
            )
        tree = ClassHierarchy.from_taxonomy(data.taxonomy, semantics=data.semantics)
        return tree.prototypes(1)[tree.labels(1)]


CLIP_METHODS: Mapping[str, Callable[[], Method]] = {
    method.name: method for method in (ClipZeroShot, Chils, ChilsByTaxonomy)
}


def refuse_other_spaces(dataset: Dataset, method: str) -> None:
    """Refuse a data set unless its features and class vectors are of one CLIP's two towers."""
    recipe: Mapping[str, Any] = getattr(dataset.inputs, "recipe", {})
    if not isinstance(dataset.inputs, NativeFeatures):
        recipe = {}
    backbone, texts = str(recipe.get("backbone")), dataset.classes.semantics_source
    if backbone.startswith(OPEN_CLIP) and texts == (
        f"CLIP texts ({backbone}, {recipe.get('weights')})"
    ):
        return
    name = next((short for short in CLIPS if full_name(short) == backbone), backbone)
    name = name if name.startswith(OPEN_CLIP) or name in CLIPS else DEFAULT_CLIP
    raise InvalidInput(
        f"{method} compares a CLIP's images with its texts, but here are "
        f"{backbone if recipe else 'other'} features and class vectors from {texts}: run zerokin "
        f"extract DATA --backbone {name} --out FILE.safetensors, then add --features "
        f"FILE.safetensors --semantics clip-text={name}"
    )


def _cosines(features: NDArray[Any], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(cosine_scores(features, vectors), dtype=np.float64)
