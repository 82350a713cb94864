"""An answer as HTML: what it is, how sure, why, and what its kin look like."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from zerokin.app.batches import Batch
from zerokin.app.names import as_html
from zerokin.app.style import SEEN_MARK, UNSEEN_MARK
from zerokin.recognizer import ImageAnswer
from zerokin.recognizer.confidence.selective_prediction import ANYTHING
from zerokin.recognizer.image_answer import Kin, RankedClass, Superclass, data_address

EXAMPLES_SHOWN = 2
ROWS_SHOWN = 200
STRANGE = "like nothing it knows: maybe none of these"


def answer_html(answer: ImageAnswer, *, max_risk: float | None) -> str:
    """Return everything that is said of one sample."""
    parts = [
        _headline(answer, max_risk),
        _path(answer.superclasses, answer.best),
        _ranked(answer.ranked),
        _kin(answer.best, answer.kin),
    ]
    return f'<div class="zk-answer">{"".join(parts)}</div>'


def note_html(text: str, *, kind: str = "plain") -> str:
    """Return a line of plain text in a box: ``"plain"``, ``"good"`` or ``"bad"``."""
    return f'<p class="zk-note zk-{kind}" role="status">{escape(text)}</p>'


def percent(probability: float) -> str:
    """Return a probability in percent.

    Examples
    --------
    >>> percent(0.613), percent(0.0004), percent(0.9996)
    ('61 %', '< 1 %', '> 99 %')
    """
    if probability < 0.005:
        return "< 1 %"
    return "> 99 %" if 0.995 <= probability < 1 else f"{100 * probability:.0f} %"


def _headline(answer: ImageAnswer, max_risk: float | None) -> str:
    hedged, best = answer.selective, answer.best
    if hedged is not None and hedged.layer != 0 and max_risk is not None:
        likeliest = f"the likeliest is {as_html(best.name)}{_small(best.probability)}"
        if hedged.layer is None:
            return (
                '<div class="zk-head zk-none"><h2>None of these</h2><p>It is like no class this '
                f"model knows; {likeliest}.</p></div>"
            )
        if hedged.name == ANYTHING:
            return (
                '<div class="zk-head zk-none"><h2>Not sure</h2><p>No answer keeps within the '
                f"{percent(max_risk)} risk that you accept; {likeliest}.</p></div>"
            )
        sure = "" if hedged.probability is None else f"{percent(hedged.probability)} probable. "
        return (
            f'<div class="zk-head"><h2>Some kind of “{as_html(hedged.name)}”</h2><p>{sure}A single '
            f"class would be wrong more often than the {percent(max_risk)} you accept; {likeliest}."
            "</p></div>"
        )
    sure = "" if best.probability is None else f"{percent(best.probability)} probable, "
    odd = f"<p>{STRANGE.capitalize()}.</p>" if answer.out_of_distribution else ""
    return (
        f'<div class="zk-head"><h2>{as_html(best.name)}</h2><p>{sure}{_role(best)}.</p>{odd}</div>'
    )


def role_html(called: str, *, seen: bool) -> str:
    """Return how a class is known, as a word with its mark."""
    mark = SEEN_MARK if seen else UNSEEN_MARK
    return f'<span class="zk-mark" aria-hidden="true">{mark}</span>{escape(called)}'


def _role(best: RankedClass) -> str:
    if best.seen:
        return "a class with training samples"
    if best.shots:
        return f"a class known by {best.shots} example{'' if best.shots == 1 else 's'}"
    return "a class it never saw a sample of"


def _path(superclasses: Sequence[Superclass], best: RankedClass) -> str:
    if not superclasses:
        return ""
    # Nodes with a single child are the same group, and bear its name.
    below = [*(step.name for step in superclasses[1:]), best.name]
    shown = [
        step for step, next_name in zip(superclasses, below, strict=True) if step.name != next_name
    ]
    steps = [f"<li>{as_html(step.name)}{_small(step.probability)}</li>" for step in shown] + [
        f"<li><strong>{as_html(best.name)}</strong>{_small(best.probability)}</li>"
    ]
    return f'<h3>Path through the hierarchy</h3><ol class="zk-path">{"".join(steps)}</ol>'


def _small(probability: float | None) -> str:
    return "" if probability is None else f" <small>{percent(probability)}</small>"


def _ranked(ranked: Sequence[RankedClass]) -> str:
    if not ranked:
        return ""
    lowest = min(one.score for one in ranked)
    spread = max(one.score for one in ranked) - lowest or 1.0
    rows = []
    for one in ranked:
        # Without probabilities the bars compare scores, the last one shown at a tenth.
        share = one.probability
        if share is None:
            share, said = 0.1 + 0.9 * (one.score - lowest) / spread, f"{one.score:.3f}"
        else:
            said = percent(share)
        role = "seen" if one.seen else "unseen"
        called = f"{one.shots} shots" if one.shots else role
        rows.append(
            f'<tr><th scope="row">{as_html(one.name)}</th>'
            f'<td class="zk-role">{role_html(called, seen=one.seen)}</td>'
            f'<td class="zk-bar"><span class="zk-{role}" style="width:{100 * share:.1f}%"></span>'
            f'</td><td class="zk-number">{said}</td></tr>'
        )
    return f'<h3>Likeliest classes</h3><table class="zk-ranked">{"".join(rows)}</table>'


def _kin(best: RankedClass, kin: Sequence[Kin]) -> str:
    if not kin:
        return ""
    figures = []
    for one in kin:
        images = "".join(
            f'<img src="{data_address(jpeg)}" alt="example of {escape(one.name)}">'
            for jpeg in one.examples[:EXAMPLES_SHOWN]
        )
        figures.append(
            f'<figure><div class="zk-images">{images}</div><figcaption>{as_html(one.name)} '
            f"<small>similarity {one.similarity:.2f}</small></figcaption></figure>"
        )
    return (
        f"<h3>Nearest kin of {as_html(best.name)} among the classes with samples</h3>"
        f'<div class="zk-kin">{"".join(figures)}</div>'
    )


def batch_html(batch: Batch) -> str:
    """Return a batch as a table, with its CSV to download and what was left out."""
    from base64 import b64encode

    readable = sum(isinstance(answer, ImageAnswer) for answer in batch.answers)
    parts = [note_html(f"{readable:,} of {len(batch.answers):,} samples answered.", kind="good")]
    if batch.skipped:
        lines = "".join(f"<li>{as_html(line)}</li>" for line in batch.skipped)
        parts.append(f'<ul class="zk-skipped">{lines}</ul>')
    if batch.answers:
        address = f"data:text/csv;charset=utf-8;base64,{b64encode(batch.csv.encode()).decode()}"
        parts.append(
            f'<p><a class="zk-button" download="zerokin.csv" href="{address}">Download CSV</a></p>'
        )
        rows = "".join(_batch_row(answer) for answer in batch.answers[:ROWS_SHOWN])
        parts.append(
            '<div class="zk-scroll"><table class="zk-batch"><thead><tr><th>Sample</th>'
            f"<th>Answer</th><th>Probability</th></tr></thead><tbody>{rows}</tbody></table></div>"
        )
        if len(batch.answers) > ROWS_SHOWN:
            parts.append(note_html(f"The first {ROWS_SHOWN} are shown; the CSV holds all."))
    return f'<div class="zk-answer">{"".join(parts)}</div>'


def _batch_row(answer: object) -> str:
    if not isinstance(answer, ImageAnswer):
        image, error = getattr(answer, "image", ""), getattr(answer, "error", "")
        return f'<tr><td>{as_html(image)}</td><td colspan="2">{as_html(error)}</td></tr>'
    hedged = answer.selective
    sure = answer.best.probability if hedged is None else hedged.probability
    number = "" if sure is None else percent(sure)
    odd = f" <small>({STRANGE})</small>" if answer.out_of_distribution and hedged is None else ""
    return (
        f"<tr><td>{as_html(answer.image)}</td><td>{as_html(answer.name)}{odd}</td>"
        f'<td class="zk-number">{number}</td></tr>'
    )
