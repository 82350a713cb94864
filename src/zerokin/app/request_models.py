"""What requests to the HTTP interface hold, as models of pydantic: OpenAPI shows them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from zerokin.classifiers.few_shot.shots import SHOTS_WORTH
from zerokin.declared import Count, Share
from zerokin.parameters import InstanceOf, NamedValues, Real, Several
from zerokin.recognizer.answering import Question, UnseenBias


def as_number(text: Any) -> Any:
    """Return the number that a text of a query stands for, or the text itself.

    Examples
    --------
    >>> as_number("5"), as_number("0.5"), as_number("many")
    (5, 0.5, 'many')
    """
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


Typed = BeforeValidator(as_number)
BINARY = {"type": "string", "format": "binary"}
IMAGE_BODY = {
    "required": True,
    "content": {
        "image/*": {"schema": BINARY},
        "multipart/form-data": {
            "schema": {"type": "object", "required": ["image"], "properties": {"image": BINARY}}
        },
    },
}
"""Of POST /api/predict, for OpenAPI."""

KINDS = ("all", "seen", "unseen")


def chosen(candidates: list[str]) -> str | list[str]:
    """Return the candidates of a question from the values of a query.

    Examples
    --------
    >>> chosen(["unseen"]), chosen(["lynx", "wolf"])
    ('unseen', ['lynx', 'wolf'])
    """
    return candidates[0] if len(candidates) == 1 and candidates[0] in KINDS else candidates


class PredictQuery(BaseModel):
    """Query of POST /api/predict: what is asked about the image."""

    model_config = ConfigDict(extra="forbid")

    k: Annotated[Count, Typed] = Field(Question.k, description="how many classes are ranked")
    max_risk: Annotated[Share | None, Typed] = Field(
        Question.max_risk, description="selective prediction: the risk that an answer may carry"
    )
    unseen_bias: Annotated[UnseenBias, Typed] = Field(
        Question.unseen_bias, description="added to the scores of unseen classes"
    )
    candidates: list[str] = Field(
        ["all"], description="all, seen, unseen, or a class; repeated for several"
    )
    examples: bool = Field(False, description="kin come with images")
    classes: list[str] | None = Field(
        None, description="only this class of the candidates; repeated for several"
    )
    under: list[str] | None = Field(
        None, description="only classes below this superclass; repeated for several"
    )
    level: str | None = Field(
        None, description="layer to answer at: a number, a rank such as family, or all"
    )
    min_confidence: Annotated[Share | None, Typed] = Field(
        Question.min_confidence, description="the deepest level that is this probable is answered"
    )

    def question(self) -> Question:
        """Return what is asked."""
        asked = vars(self).items()
        known = {name: value for name, value in asked if name in Question._parameter_ranges}
        return Question(**{**known, "candidates": chosen(self.candidates)})


class FeatureRow(BaseModel):
    """Body of POST /api/predict where there is no network: the features of one sample."""

    model_config = ConfigDict(extra="forbid")

    features: Annotated[list[float], Several(Real())]


class NewClass(BaseModel):
    """Body of POST /api/classes: a name, one of attributes, text and vector, features, or both."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in ("attributes", "text", "vector", "features")]
        },
    )

    name: Annotated[str, InstanceOf(str, "text")]
    attributes: Annotated[dict[str, float], NamedValues()] | None = Field(
        None, description="numbers by name; those left out are 0"
    )
    text: Annotated[str, InstanceOf(str, "text")] | None = Field(
        None, description="a sentence, where classes are known by sentences"
    )
    vector: Annotated[list[float], Several(Real())] | None = None
    features: Annotated[list[list[float]], Several(Several(Real()), least=True)] | None = Field(
        None, description="examples where there is no network: a row of features for each"
    )
    kappa: Annotated[float, SHOTS_WORTH] | None = Field(
        None, description="how many examples the semantics count as"
    )


CLASS_FORM = {
    "type": "object",
    "required": ["name", "images"],
    "properties": {
        "name": {"type": "string"},
        "images": {"type": "array", "items": BINARY},
        "text": {"type": "string"},
        **{
            name: {"type": "string", "description": f"{name} as JSON"}
            for name in ("attributes", "vector", "kappa")
        },
    },
}
"""Form of POST /api/classes: a class with images of it."""


def body_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return how OpenAPI describes a JSON body."""
    schema = model.model_json_schema()
    return {"required": True, "content": {"application/json": {"schema": schema}}}
