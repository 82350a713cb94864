"""Which sources are mutated, and which tests must notice: those of the same room."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "zerokin"
TESTS = ROOT / "tests"


class Room(NamedTuple):
    """A part of the sources and the tests that hold it.

    Parameters
    ----------
    sources
        Folders or files below ``src/zerokin``. Their docstring examples are tests, too.
    tests
        Names of test files, without ``test_`` and ``.py``.
    """

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def source_files(self) -> list[str]:
        """Files to mutate, as paths below ``src/zerokin``."""
        found: list[Path] = []
        for name in self.sources:
            path = SOURCES / name
            found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
        return [path.relative_to(SOURCES).as_posix() for path in found]

    def test_files(self) -> list[Path]:
        """Test files that exist."""
        return [TESTS / f"test_{name}.py" for name in self.tests]


HEADS = ("hierarchy_head", "semantic_head", "lstm_cell", "losses")

ROOMS = {
    "projection": Room(
        ("projection",),
        (
            "projection_graph",
            "projection_learner",
            "projection_solvers",
            "memory_budget",
            "approximate_neighbors",
        ),
    ),
    "hierarchy": Room(
        ("hierarchy",),
        (
            "hierarchy_layers",
            "hierarchy_wordnet",
            "hierarchy_class",
            "hierarchy_alignment",
            "hierarchy_taxonomy",
            "hierarchy_saved",
            "hierarchy_clustering",
        ),
    ),
    "metrics": Room(("metrics",), ("metrics", "metrics_multi_label")),
    "networks": Room(
        tuple(f"features/networks/{name}.py" for name in HEADS),
        ("networks_chain", "networks_losses", "networks_semantic_head", "networks_joint"),
    ),
    "classifiers": Room(
        ("classifiers",),
        (
            "recognition_parts",
            "stage_memo",
            "few_shot_scores",
            "explanation",
            "classifier_tampered",
            "classifier_contract",
            "class_removal",
            "zero_shot_classifier",
            "classifier_roundtrip",
            "finite_scores",
            "few_shot_classifier",
            "hierarchy_alignment",
            "class_by_example",
            "large_class_counts",
            "label_ranking",
            "multi_label_classifier",
            "prototype_network",
        ),
    ),
    "selection": Room(
        ("selection",),
        (
            "selection",
            "fitting",
            "evaluation",
            "ours_in_harness",
            "paper_method",
            "few_classes",
            "multi_label_harness",
        ),
    ),
}
