"""A batch of samples, answered: a table to look at and the CSV that ``zerokin predict`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zerokin.app.archives import uploaded_images
from zerokin.app.feature_uploads import uploaded_features
from zerokin.app.refusals import TooLarge
from zerokin.app.service import Service
from zerokin.data.feature_files import FeatureFile
from zerokin.data.images import Images
from zerokin.errors import InvalidInput
from zerokin.recognizer import ImageAnswer, UnreadableImage
from zerokin.recognizer.answering import Question


@dataclass(frozen=True)
class Batch:
    """Answers in the order of the samples, their CSV, and a line for what was left out."""

    answers: tuple[ImageAnswer | UnreadableImage, ...]
    csv: str
    skipped: tuple[str, ...]


def answer_batch(service: Service, files: Sequence[tuple[str, Path]], question: Question) -> Batch:
    """Answer every sample of uploaded files.

    Parameters
    ----------
    service
        Who answers.
    files
        What each file is called, and where it lies: images and zip files, or one NumPy file of
        features where there is no network.
    question
        What is asked of each.
    """
    # The very lines of the command line: a batch and `zerokin predict --csv` must not differ.
    from zerokin.report.answers_csv import csv_heading, csv_row

    samples: Images | FeatureFile
    skipped: list[str] = []
    if service.recognizer.takes == "features":
        if len(files) != 1:
            raise InvalidInput("choose one NumPy file of features (.npy) at a time")
        samples, most = uploaded_features(files[0][1]), service.limits.batch_images
        if len(samples) > most:
            raise TooLarge(f"{len(samples):,} rows, over the limit of {most:,}")
    else:
        samples, skipped = uploaded_images(files, service.limits)
    answers = tuple(service.ask_many(samples, question))
    lines = [csv_heading(question.k), *(csv_row(answer, question.k) for answer in answers)]
    return Batch(answers, "".join(lines), tuple(skipped))
