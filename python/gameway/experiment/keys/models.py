"""Tables that a model checks, with its errors told as ours."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pydantic import BaseModel, PlainValidator, ValidationError, ValidationInfo

from gameway.errors import nearest
from gameway.experiment.keys.checking import REFUSED, At, Check, axis, inside, refuse


def table_of(model: type[BaseModel]) -> Check:
    """Check a table by a model of its own, with its errors told as ours."""

    def check(value: object, info: ValidationInfo) -> BaseModel:
        if isinstance(value, model):
            return value
        if not isinstance(value, dict):
            refuse("must be a table", value, f"known keys are {', '.join(model.model_fields)}")
        try:
            return model.model_validate(value, context=info.context)
        except ValidationError as error:
            refuse_first(error, model)

    return check


def refuse_first(error: ValidationError, model: type[BaseModel]) -> NoReturn:
    """Tell the first error of a model as a refusal; a misspelt key before the key it should be."""
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    at: At = tuple(first["loc"])
    value = first.get("input")
    if first["type"] == REFUSED:
        context = first["ctx"]
        refuse(context["problem"], context["value"], context["hint"], (*at, *context["at"]))
    if first["type"] == "extra_forbidden":
        refuse("is an unknown key", value, nearest(str(at[-1]), model.model_fields), at)
    if first["type"] == "missing":
        field = model.model_fields[str(at[-1])]
        example = json.dumps((field.examples or ["..."])[0], ensure_ascii=False)
        refuse("is missing", None, f"add {at[-1]} = {example}", at)
    refuse(first["msg"], value, None, at)


def table_axis(model: type[BaseModel]) -> PlainValidator:
    """Validate one table, or a list of tables that is an axis."""
    return axis(table_of(model))


def table_list(model: type[BaseModel]) -> PlainValidator:
    """Validate a list of tables, each of which is one more part of the experiment."""
    check = table_of(model)

    def validate(value: object, info: ValidationInfo) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            of_path = info.field_name in {"hop", "change"}
            name = f"path.{info.field_name}" if of_path else info.field_name
            refuse("must be a list of tables", value, f"write [[{name}]]")
        return [inside(index, check, item, info) for index, item in enumerate(value)]

    return PlainValidator(validate)
