"""Feature networks: backbones, the paper's LSTM chain, the end-to-end head, and their losses."""

from zerokin.aliases import former
from zerokin.features.networks.backbone import Backbone, BackboneOutput, Normalization
from zerokin.features.networks.backbones import create_backbone
from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.hierarchy_head import HierarchyHead
from zerokin.features.networks.losses import hierarchy_loss, semantic_loss
from zerokin.features.networks.lstm_cell import TwoStepLSTM, lstm_step
from zerokin.features.networks.network import FeatureNetwork
from zerokin.features.networks.presets import PRESETS, Preset
from zerokin.features.networks.prototypical_head import PrototypicalHead
from zerokin.features.networks.semantic_head import SemanticHead
from zerokin.features.networks.weight_files import read_weights, save_weights

__all__ = [
    "PRESETS",
    "Backbone",
    "BackboneOutput",
    "FeatureNetwork",
    "HeadOutputs",
    "HierarchyHead",
    "Normalization",
    "Preset",
    "PrototypicalHead",
    "SemanticHead",
    "TwoStepLSTM",
    "create_backbone",
    "hierarchy_loss",
    "lstm_step",
    "read_weights",
    "save_weights",
    "semantic_loss",
]

_FORMER = {"Normalisation": "Normalization"}

__getattr__ = former(__name__, _FORMER)
