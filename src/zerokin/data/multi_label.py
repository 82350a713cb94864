"""`MultiLabelDataset`: samples that have several labels at once."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from zerokin.data.dataset import TEST_SEEN, Dataset
from zerokin.data.label_rows import count_labels, hold_out_rows, rows_alone
from zerokin.data.splits import ClassMask, Indices, Split
from zerokin.errors import InvalidInput, UnseenLabels, listing


class MultiLabelDataset(Dataset):
    """Samples of C classes, any number of which a sample can show, some of them unseen.

    A training sample holds seen labels alone. A test sample that holds an unseen label is in
    ``test_unseen``, whatever else it holds; the others are in ``test_seen``. Every sample of a part
    has a label at least. Whatever fits one label a sample refuses this data.

    Parameters
    ----------
    name, classes, splits, provenance, split
        As for `Dataset`.
    inputs
        As for `Dataset`; features may also be those of R regions of every image, (N, R, d_f).
    labels
        (N, C) which labels each sample has, zeros and ones: an array, or a sparse one of SciPy.

    Examples
    --------
    >>> import zerokin
    >>> scenes = zerokin.load_dataset("critters-scenes")
    >>> scenes.training_label_matrix().sum(axis=1)[:5].tolist()
    [5, 4, 5, 4, 3]
    """

    multi_label: ClassVar[bool] = True
    _input_shapes: ClassVar[Mapping[int, str]] = MappingProxyType({2: "(N, d_f)", 3: "(N, R, d_f)"})

    def training_labels(self, indices: Indices | None = None) -> NoReturn:
        """Refuse: there is not one label a sample. See `training_label_matrix`."""
        del indices
        raise InvalidInput(_several(self))

    def evaluation_labels(self, indices: Indices) -> NoReturn:
        """Refuse: there is not one label a sample. See `evaluation_label_matrix`."""
        del indices
        raise InvalidInput(_several(self))

    def training_label_matrix(self, indices: Indices | None = None) -> NDArray[np.bool_]:
        """Return labels (n, C) to fit on: of the training samples, or of the samples given.

        Raises
        ------
        UnseenLabels
            If any of the samples has an unseen label.
        """
        indices = self.split.train if indices is None else self._samples(indices)
        labels = self.evaluation_label_matrix(indices)
        refused = labels[:, self.split.unseen].any(axis=1)
        if refused.any():
            raise UnseenLabels(
                f"{refused.sum():,} of {len(labels):,} samples asked for to fit have unseen "
                "labels: fit on dataset.split.train, and use evaluation_label_matrix to measure"
            )
        return labels

    def evaluation_label_matrix(self, indices: Indices) -> NDArray[np.bool_]:
        """Return labels (n, C) to measure with; nothing may be fitted or chosen on them."""
        found: NDArray[np.bool_] = self._labels[self._samples(indices)].toarray()
        return found

    def training_counts(self) -> NDArray[np.int64]:
        return count_labels(self._labels[self.split.train])

    def fold(
        self, number: int, *, test_seen: float = TEST_SEEN, seed: int = 0
    ) -> MultiLabelDataset:
        """Return validation fold 1, 2, …, as `Dataset.fold` does.

        No training sample holds one of its validation classes: samples that do are its test
        samples.

        Parameters
        ----------
        number, test_seen, seed
            As for `Dataset.fold`; ``test_seen`` is a fraction of the remaining training samples.
        """
        return cast(MultiLabelDataset, super().fold(number, test_seen=test_seen, seed=seed))

    def label_counts(self, indices: Indices) -> NDArray[np.int64]:
        """Return how many labels each of these samples has."""
        found: NDArray[np.int64] = np.diff(self._labels[self._samples(indices)].indptr)
        return found

    def _label_array(self, labels: Any) -> Any:
        from scipy.sparse import csr_array, issparse

        if not issparse(labels):
            labels = np.asarray(labels)
            if labels.ndim != 2 or labels.dtype.kind not in "biuf":
                raise InvalidInput(
                    "labels must be a matrix (N, C) of 0 and 1: got "
                    f"{labels.dtype} of shape {labels.shape}"
                )
        kept = csr_array(labels)
        kept.sum_duplicates()
        kept.eliminate_zeros()
        if not (kept.data == 1).all():
            strange = kept.data[kept.data != 1][0]
            raise InvalidInput(f"labels hold {strange}: a sample has a label (1) or has it not (0)")
        return kept.astype(np.bool_)

    def _labels_outside(self) -> str | None:
        width, C = self._labels.shape[1], len(self.classes)
        if width == C:
            return None
        return f"labels have {width} columns, but the class table has {C} classes"

    def _split_problems(self, split: Split) -> list[str]:
        names = self.classes.names
        found = split.misfits(len(self), len(names))
        if found:
            return found
        if split.unseen.all():
            return ["all classes are unseen: nothing can be learned without a seen one"]
        for part, indices in split.parts.items():
            labels = self._labels[indices]
            bare = indices[np.diff(labels.indptr) == 0]
            if len(bare):
                found.append(
                    f"{part} holds {self._called(bare[0])} without labels ({len(bare):,} such "
                    "samples): label it, or leave it out"
                )
            of_unseen = labels[:, split.unseen].sum(axis=1) > 0
            if part == "test_unseen":
                lacking = indices[~of_unseen]
                if len(lacking):
                    found.append(
                        f"test_unseen holds {self._called(lacking[0])} without an unseen label "
                        f"({len(lacking):,} such samples): put it into test_seen"
                    )
            elif of_unseen.any():
                held = np.flatnonzero((count_labels(labels) > 0) & split.unseen)
                found.append(
                    f"seen and unseen classes overlap: {part} holds samples with unseen labels "
                    f"({listing(names[at] for at in held.tolist())})"
                )
        return found + split.overlaps(names)

    def _copy(self, **changes: object) -> MultiLabelDataset:
        return MultiLabelDataset(**(self._fields() | changes))

    def _called(self, sample: int) -> str:
        names = getattr(self.inputs, "names", None)
        return f"sample {sample + 1:,}" + (f" ({names[sample]!r})" if names else "")

    def _without(
        self, validation: ClassMask, number: int, test_seen: float, seed: int
    ) -> MultiLabelDataset:
        """Return the data set in which validation classes play the unseen ones.

        Samples that hold any of them test; of the others a part is held out, and tests, too. A
        seen class that no training sample is left of does not exist in the fold.
        """
        train = self.split.train
        labels = self._labels[train]
        holds = labels[:, validation].sum(axis=1) > 0
        fit, held = hold_out_rows(labels, np.flatnonzero(~holds), fraction=test_seen, seed=seed)
        if not len(fit):
            raise InvalidInput(
                f"validation fold {number}: every training sample of {self.name} holds one of its "
                "classes, so that none is left to fit on"
            )
        known = validation | (count_labels(labels[fit]) > 0)
        columns = np.flatnonzero(known)
        labeled = np.diff(labels[:, columns].indptr) > 0
        split = Split(
            version=f"{self.split.version}, validation fold {number}",
            unseen=validation[columns],
            train=train[fit],
            test_seen=train[held[labeled[held]]],
            test_unseen=train[np.flatnonzero(holds)],
        )
        name = f"{self.split_name} fold {number}"
        return self._copy(
            classes=self.classes.select(columns),
            labels=rows_alone(self._labels, train)[:, columns],
            splits={name: split},
            split=name,
        )


def _several(dataset: Dataset) -> str:
    return (
        f"{dataset.name} has several labels a sample, and this takes one: see `zerokin evaluate`, "
        "`compare` and MultiLabelZeroShotClassifier for what takes several"
    )
