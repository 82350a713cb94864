"""Data sets: images or features, labels, classes, splits, and where they came from."""

from zerokin.aliases import former
from zerokin.data.classes import ClassTable
from zerokin.data.dataset import Dataset, InvalidDataset
from zerokin.data.images import Images
from zerokin.data.load import load_dataset
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.data.provenance import Provenance
from zerokin.data.sharded_features import ShardedFeatures, write_shards
from zerokin.data.splits import Split

__all__ = [
    "ClassTable",
    "Dataset",
    "Images",
    "InvalidDataset",
    "MultiLabelDataset",
    "Provenance",
    "ShardedFeatures",
    "Split",
    "load_dataset",
    "write_shards",
]

_FORMER = {"Images": "Images"}

__getattr__ = former(__name__, _FORMER)
