"""The paper's ablation: what every component of the method brings, from one configuration."""

from zerokin.benchmark.ablation.config import AblationConfig, RowPlan
from zerokin.benchmark.ablation.run import run_ablation
from zerokin.features.network_config import NetworkPlan

__all__ = ["AblationConfig", "NetworkPlan", "RowPlan", "run_ablation"]
