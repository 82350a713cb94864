"""Former home of `zerokin.features.scaler`, for those who import from here."""

from zerokin.features.scaler import MOST_SHRINKAGE as MOST_SHRINKAGE
from zerokin.features.scaler import STEPS as STEPS
from zerokin.features.scaler import Affine as Affine
from zerokin.features.scaler import Features as Features
from zerokin.features.scaler import FeatureScaler
from zerokin.features.scaler import signed_root as signed_root
from zerokin.features.scaler import unit_length as unit_length

FeatureNormaliser = FeatureScaler
