"""EASY: the nearest mean of augmented shots, read by several networks side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zerokin.benchmark.few_shot.peers.simple_shot import SimpleShot


@dataclass
class Easy(SimpleShot):
    """Features averaged over random crops, less the base mean, of unit length; the nearest mean.

    The rule is SimpleShot's. What EASY adds lies in the features: many random crops of every image,
    averaged before they are normalized (features of their own for shots), and several networks side
    by side. On features of one view it equals ``simple-shot``, so that ``all`` leaves it out there.
    """

    name: ClassVar[str] = "easy"
    reference: ClassVar[str] = (
        "Bendou, Hu, Lafargue, Lioi, Pasdeloup, Pateux & Gripon, EASY: Ensemble Augmented-Shot "
        "Y-shaped Learning: State-Of-The-Art Few-Shot Classification with Simple Ingredients, 2022"
    )
