"""A backbone and a head as one network."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from zerokin.errors import InvalidInput
from zerokin.features.networks.backbone import Backbone
from zerokin.features.networks.head_outputs import HeadOutputs
from zerokin.features.networks.hierarchy_head import HierarchyHead
from zerokin.features.networks.prototypical_head import PrototypicalHead
from zerokin.features.networks.semantic_head import Matrix, SemanticHead

Head = HierarchyHead | SemanticHead | PrototypicalHead


class FeatureNetwork(nn.Module):
    """Images to features, and features to logits for classes and superclasses.

    Parameters
    ----------
    backbone
        Images to features.
    head
        Features to logits.

    Examples
    --------
    >>> import torch
    >>> from zerokin.features.networks import create_backbone
    >>> backbone = create_backbone("conv4")
    >>> network = FeatureNetwork(backbone, HierarchyHead(backbone.d_f, 10, [5, 2]))
    >>> images = torch.rand(2, 3, 32, 32)
    >>> network(images).classes.shape, network.features(images).shape
    (torch.Size([2, 10]), torch.Size([2, 64]))
    """

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        if backbone.d_f != head.d_f:
            raise InvalidInput(
                f"{backbone.name} gives {backbone.d_f} features, the head reads {head.d_f}: "
                f"make the head with d_f=backbone.d_f"
            )
        self.backbone = backbone
        self.head = head
        self.rotation_head: nn.Linear | None = None

    def forward(self, images: Tensor, shares: Tensor | None = None) -> HeadOutputs:
        """Return logits for images (B, 3, H, W), mixed where shares of manifold mixup are given.

        Parameters
        ----------
        images, shares
            As for `Backbone`.
        """
        maps, features = self.backbone(images, shares)
        outputs: HeadOutputs = (
            self.head(features, maps) if self.head.uses_maps else self.head(features)
        )
        return (
            outputs
            if self.rotation_head is None
            else outputs._replace(rotations=self.rotation_head(features))
        )

    def add_rotation_head(self) -> None:
        """Add rotation prediction (RotNet), four quarter turns, until `drop_rotation_head`.

        The layer serves training alone. It starts from zeros, so that there is nothing to draw: it
        learns itself before it teaches the features.
        """
        first = next(self.backbone.parameters())
        layer = nn.Linear(self.backbone.d_f, 4, device="meta").to_empty(device=first.device)
        for weight in layer.parameters():
            nn.init.zeros_(weight)
        self.rotation_head = layer

    def drop_rotation_head(self) -> None:
        """Be without the layer of `add_rotation_head` again."""
        self.rotation_head = None

    def features(self, images: Tensor) -> Tensor:
        """Return the features of images (B, 3, H, W), (B, d_f)."""
        features: Tensor = self.backbone(images).features
        return features

    def scores(self, images: Tensor, semantics: Matrix) -> Tensor:
        """Return cosines of images with any classes by their semantics (n, d_z), (B, n)."""
        if not isinstance(self.head, SemanticHead):
            raise InvalidInput("only a network with a SemanticHead scores classes by semantics")
        maps, features = self.backbone(images)
        return self.head.scores(features, semantics, maps)

    def parameter_groups(self, lr: float, head_multiplier: float = 10.0) -> list[dict[str, Any]]:
        """Return groups for an optimizer: new layers learn faster than the backbone.

        Frozen parameters (``requires_grad=False``) are left out.

        Parameters
        ----------
        lr
            Learning rate of the backbone.
        head_multiplier
            The head's learning rate as a multiple of it.
        """
        if not (lr > 0 and head_multiplier > 0):
            raise InvalidInput(
                f"lr and head_multiplier must be above 0: got {lr} and {head_multiplier}"
            )
        rates = {"backbone": lr, "head": lr * head_multiplier}
        new = nn.ModuleList(
            [self.head] if self.rotation_head is None else [self.head, self.rotation_head]
        )
        modules = {"backbone": self.backbone, "head": new}
        groups = [
            {
                "name": name,
                "params": [p for p in module.parameters() if p.requires_grad],
                "lr": rates[name],
            }
            for name, module in modules.items()
        ]
        return [group for group in groups if group["params"]]
