"""Our classifier for several labels, its hyper-parameters chosen on class folds."""

from __future__ import annotations

from zerokin.classifiers.multi_label.multi_label_classifier import MultiLabelZeroShotClassifier
from zerokin.data.multi_label import MultiLabelDataset
from zerokin.selection.multi_label.method import regions_of
from zerokin.selection.multi_label.ours import MultiLabelOurs, estimator_of
from zerokin.selection.multi_label.search import LabelFoldSearch
from zerokin.selection.staged_search import Selection


def fit_label_classifier(
    dataset: MultiLabelDataset, *, tune: bool = True, random_state: int = 0, quiet: bool = False
) -> tuple[MultiLabelZeroShotClassifier, Selection | None]:
    """Return a classifier fitted to the training samples, and how it was chosen.

    Parameters
    ----------
    dataset
        Features with several labels. Test samples and labels of unseen classes are not looked at.
    tune
        Choose hyper-parameters and the seen penalty on validation folds; otherwise the default
        ones, with the classifier's own seen penalty.
    random_state
        Seed.
    quiet
        Show no progress.
    """
    method, chosen = MultiLabelOurs(), None
    params = method.defaults
    if tune:
        search = LabelFoldSearch(method, dataset, random_state=random_state, quiet=quiet)
        chosen = search.choose("generalized")
        params = chosen.best.params
    model = estimator_of(params, random_state)
    penalty = "auto" if chosen is None else chosen.best.seen_penalty
    model.zero_shot.set_params(seen_penalty=penalty)  # type: ignore[union-attr]
    model.fit(
        regions_of(dataset, dataset.split.train),
        dataset.training_label_matrix(),
        semantics=dataset.classes,
    )
    return model, chosen
