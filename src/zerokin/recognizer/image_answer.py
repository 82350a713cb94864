"""What is said of one image, as plain data that JSON can hold."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import asdict, dataclass
from typing import Any

from zerokin.aliases import ANSWER, accept_old_names


@dataclass(frozen=True)
class RankedClass:
    """A candidate: score, probability (None without calibration), role, and its shots, if any."""

    name: str
    score: float
    probability: float | None
    seen: bool
    shots: int = 0


@dataclass(frozen=True)
class Superclass:
    """A superclass of the best class: its layer (1 is the lowest) and its probability."""

    name: str
    layer: int
    probability: float | None


@dataclass(frozen=True)
class RankedNode:
    """A class or superclass of an `AnswerLevel`.

    Parameters
    ----------
    name
        What it is called.
    score
        That of the best candidate below it.
    probability
        Summed over the candidates below it; None without calibration.
    """

    name: str
    score: float
    probability: float | None


@dataclass(frozen=True)
class AnswerLevel:
    """The best classes or superclasses of one layer.

    Parameters
    ----------
    layer
        0 for classes, 1 and up for superclasses.
    rank
        What the layer is called, such as ``"family"``; None where it has no name.
    ranked
        Its best nodes, best first: by probability, which is summed over the candidates below, or
        by their best candidate where there are no probabilities.
    """

    layer: int
    rank: str | None
    ranked: tuple[RankedNode, ...]


@dataclass(frozen=True)
class SelectiveAnswer:
    """Selective prediction: the most specific answer that is safe or sure enough.

    Parameters
    ----------
    name
        A class, a superclass, ``"anything"`` or ``"none of these"``.
    layer
        0 for a class, 1 and up for a superclass; None for none of these.
    probability, risk
        How probable the answer is, and its estimated risk of being wrong; no risk is estimated
        for ``min_confidence``.
    """

    name: str
    layer: int | None
    probability: float | None
    risk: float | None


@dataclass(frozen=True)
class Kin:
    """A seen class near the best class: cosine of their semantics, and example images (JPEG)."""

    name: str
    similarity: float
    examples: tuple[bytes, ...] = ()


@accept_old_names(ANSWER)
@dataclass(frozen=True)
class ImageAnswer:
    """What a `Recognizer` says of one image.

    Parameters
    ----------
    image
        What the image is called: its path, or its number.
    ranked
        The best candidates, best first.
    superclasses
        Those of the best class, from the top down.
    selective
        Selective prediction (Geifman & El-Yaniv 2017): the answer at the risk accepted;
        None where neither ``max_risk`` nor ``min_confidence`` was given.
    kin
        The seen classes nearest to the best class.
    out_of_distribution
        Whether the image is like no known class.
    level
        The layer that was asked for, 0 for classes; None where none was.
    levels
        Every layer from the top down, where a level or ``min_confidence`` was asked for.
    """

    image: str
    ranked: tuple[RankedClass, ...]
    superclasses: tuple[Superclass, ...] = ()
    selective: SelectiveAnswer | None = None
    kin: tuple[Kin, ...] = ()
    out_of_distribution: bool = False
    level: int | None = None
    levels: tuple[AnswerLevel, ...] = ()

    @property
    def best(self) -> RankedClass:
        """The best class."""
        return self.ranked[0]

    @property
    def name(self) -> str:
        """The selective answer where one was asked for, otherwise the best of the level."""
        if self.selective is not None:
            return self.selective.name
        at_level = self.at_level
        return self.best.name if at_level is None else at_level.ranked[0].name

    @property
    def at_level(self) -> AnswerLevel | None:
        """The level that was asked for, None where none was."""
        return next((one for one in self.levels if one.layer == self.level), None)

    def to_dict(self, *, examples: bool = False) -> dict[str, Any]:
        """Return the answer as plain data for JSON.

        Parameters
        ----------
        examples
            Include the example images of kin as ``data:`` addresses; otherwise they are left out.

        Examples
        --------
        >>> okapi = RankedClass("okapi", 0.2, None, seen=False)
        >>> ImageAnswer("a.jpg", (okapi,)).to_dict()["answer"]
        'okapi'
        """
        plain = asdict(self)
        for kin, own in zip(plain["kin"], self.kin, strict=True):
            del kin["examples"]
            if examples:
                kin["examples"] = [data_address(jpeg) for jpeg in own.examples]
        lists = {name: list(plain[name]) for name in ("ranked", "superclasses", "kin", "levels")}
        for level in lists["levels"]:
            level["ranked"] = list(level["ranked"])
        found = {"image": self.image, "answer": self.name, **plain, **lists}
        # As earlier versions called them: beside the new names for one version.
        return {**found, **{old: found[new] for old, new in ANSWER.items()}}


@accept_old_names(ANSWER)
@dataclass(frozen=True)
class UnreadableImage:
    """An image that could not be read, and why.

    Parameters
    ----------
    image
        Its name.
    error
        Why, in one line.
    """

    image: str
    error: str

    def to_dict(self) -> dict[str, Any]:
        """Return image and error as plain data for JSON."""
        return {**asdict(self), "picture": self.image}


def data_address(jpeg: bytes) -> str:
    """Return a JPEG image as an address that holds it whole.

    Examples
    --------
    >>> data_address(b"abc")
    'data:image/jpeg;base64,YWJj'
    """
    return f"data:image/jpeg;base64,{b64encode(jpeg).decode()}"
