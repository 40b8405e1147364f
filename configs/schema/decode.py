"""The base of the schemas, and the way from a document to valid data and placed problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, validates_schema
from marshmallow.orderedset import OrderedSet

from base.errors import Problem
from configs.schema.document import Document, Path
from configs.schema.fields import AtKey, unknown_key

# Somebody who has more of them in one table gave the wrong file, and needs no list of thousands.
MAX_UNKNOWN_KEYS = 50


class Strict(Schema):
    """A schema that knows all its keys; another one is a mistake, with the nearest known."""

    # marshmallow 3.19, Spack's newest, would name the known keys in another order each time.
    set_class = OrderedSet

    class Meta:
        """What marshmallow is to do by itself."""

        # Unknown keys are found below, where their message can name the known ones.
        unknown = EXCLUDE
        register = False

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _refuse_unknown_keys(self, _: object, original: dict[str, Any], **__: object) -> None:
        known = list(self.fields)
        unknown = islice((key for key in original if key not in known), MAX_UNKNOWN_KEYS)
        errors = {key: [unknown_key(key, known)] for key in unknown}
        if errors:
            raise ValidationError(errors)


def load(schema: Strict, document: Document) -> tuple[Any, list[Problem]]:
    """Return what the schema makes of a document, and all its problems.

    With problems the first is only what was valid, as plain data: lists keep a gap (None) for an
    item that is wrong, so that paths stay those of the document. The document's own problems come
    first, and hide what follows from them at the same place.
    """
    if document.problems and document.value is None:
        return {}, list(document.problems)
    if not isinstance(document.value, dict):
        message = f"expected keys and values; known keys: {', '.join(schema.fields)}"
        return {}, [*document.problems, document.problem((), message)]
    data, messages = load_value(schema, document.value)
    return data, [*document.problems, *placed(document, messages, document.problems)]


def load_value(schema: Strict, value: object) -> tuple[Any, list[tuple[Path, str]]]:
    """Return what the schema makes of a plain value, and (path, message) of its mistakes."""
    try:
        return schema.load(value), []  # type: ignore[arg-type]
    except ValidationError as error:
        return error.valid_data, list(_flat(error.messages, ()))


def placed(
    document: Document, messages: Iterable[tuple[Path, str]], known: Iterable[Problem]
) -> list[Problem]:
    """Return the messages as problems, but for those at the place of a known problem."""
    taken = {(problem.line, problem.column) for problem in known}
    found = [
        document.problem(path, message, key=isinstance(message, AtKey))
        for path, message in messages
    ]
    return [problem for problem in found if (problem.line, problem.column) not in taken]


def _flat(messages: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(messages, dict):
        for key, inner in messages.items():
            yield from _flat(inner, path if key == "_schema" else (*path, key))
    elif isinstance(messages, list):
        for inner in messages:
            yield from _flat(inner, path)
    elif isinstance(messages, str):
        yield path, messages
