"""Data sets: pictures or features, labels, classes, splits, and where they came from."""

from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset, InvalidDataset
from zerokin.data.load import load_dataset
from zerokin.data.pictures import Pictures
from zerokin.data.provenance import Provenance
from zerokin.data.splits import Split

__all__ = [
    "ClassTable",
    "Dataset",
    "InvalidDataset",
    "Pictures",
    "Provenance",
    "Split",
    "load_dataset",
]
