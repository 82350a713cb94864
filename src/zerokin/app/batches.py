"""A batch of pictures, answered: a table to look at and the CSV that ``zerokin predict`` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zerokin.app.archives import uploaded_pictures
from zerokin.app.service import Service
from zerokin.recognizer import ImageAnswer, UnreadableImage
from zerokin.recognizer.answering import Question


@dataclass(frozen=True)
class Batch:
    """Answers in the order of the pictures, their CSV, and a line for what was left out."""

    answers: tuple[ImageAnswer | UnreadableImage, ...]
    csv: str
    skipped: tuple[str, ...]


def answer_batch(service: Service, files: Sequence[tuple[str, Path]], question: Question) -> Batch:
    """Answer every picture of uploaded files.

    Parameters
    ----------
    service
        Who answers.
    files
        What each file is called, and where it lies: pictures and zip files.
    question
        What is asked of each.
    """
    # The very lines of the command line: a batch and `zerokin predict --csv` must not differ.
    from zerokin.report.answers_csv import csv_heading, csv_row

    pictures, skipped = uploaded_pictures(files, service.limits)
    answers = tuple(service.ask_many(pictures, question))
    lines = [csv_heading(question.k), *(csv_row(answer, question.k) for answer in answers)]
    return Batch(answers, "".join(lines), tuple(skipped))
