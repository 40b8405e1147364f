"""The key `co_runners` of a study: what it means, and what is wrong with it."""

from __future__ import annotations

import pytest

from configs.load import study_digest
from tests.configs.shelves import GUEST, mistakes, study_of, study_with

OTHER = "app: lu, build: libgomp, size: small, threads: 2, mapping: pcores-pin"


def with_co_runners(text: str, *lines: str) -> str:
    return study_with(f"co_runners: {text}", *lines)


def test_co_runners_are_a_list_in_which_none_is_a_program_alone() -> None:
    study = study_of(with_co_runners(f"[none, {{{OTHER}}}]"))
    assert study.co_runners
    alone, other = study.co_runners
    assert alone is None
    assert other
    assert (other.app.name, other.build.name, other.size.name) == ("lu", "libgomp", "small")
    assert (other.threads, other.mapping.name) == (2, "pcores-pin")
    assert study.all_co_runners == (other,)


def test_a_single_one_needs_no_list_and_may_have_a_mapping_of_its_own() -> None:
    mapping = "{name: mine, selection: ecores, binding: set}"
    study = study_of(with_co_runners(f"{{{OTHER.replace('pcores-pin', mapping)}}}"))
    (other,) = study.all_co_runners
    assert (other.mapping.selection, other.mapping.binding) == ("ecores", "set")


def test_without_the_key_a_study_is_what_it_was() -> None:
    study = study_of(study_with())
    assert study.co_runners is None
    digest = study_digest(study)
    assert digest == study_digest(study_of(study_with("title: Another")))
    assert digest != study_digest(study_of(with_co_runners(f"[none, {{{OTHER}}}]")))
    two = study_of(with_co_runners(f"[none, {{{OTHER.replace('2', '1')}}}]"))
    assert study_digest(two) != study_digest(study_of(with_co_runners(f"[none, {{{OTHER}}}]")))


@pytest.mark.parametrize(
    ("text", "lines", "message"),
    [
        ("nothing", (), "co-runner 'nothing' is not known"),
        ("{app: lu, build: libgomp, size: small}", (), "'threads' is missing"),
        ("{app: lu, build: libgomp, size: small}", (), "'mapping' is missing"),
        (
            f"{{{OTHER.replace('libgomp', 'libgom')}}}",
            (),
            "build 'libgom' is not known to app 'lu'",
        ),
        (f"{{{OTHER.replace('small', 'tiny')}}}", (), "size 'tiny' is not known to app 'lu'"),
        (f"{{{OTHER.replace('pcores-pin', 'pcore')}}}", (), "mapping 'pcore' is not known"),
        (f"{{{OTHER.replace('lu', 'lv', 1)}}}", (), "'lv'"),
        (f"{{{OTHER.replace('libgomp', 'serial')}}}", (), "build 'serial' runs one thread"),
        (f"{{{OTHER}, ranks: 2}}", (), "key 'ranks' is not known here"),
        (f"[{{{OTHER}}}, {{{OTHER}}}]", (), "is repeated"),
        ("[none, none]", (), "'none' is repeated"),
        (f"{{{OTHER}}}", (GUEST,), "co-runners run on the node itself; write engine: local"),
    ],
)
def test_a_mistake_is_told_where_it_stands(text: str, lines: tuple[str, ...], message: str) -> None:
    found = mistakes(with_co_runners(text, *lines))
    assert any(message in one for one in found), found


def test_mappings_that_are_written_out_under_one_name_would_be_one_in_tables() -> None:
    mapping = "{name: mine, selection: ecores, binding: set}"
    one, two = (
        OTHER.replace("pcores-pin", text) for text in (mapping, mapping.replace("set", "pin"))
    )
    (message,) = mistakes(with_co_runners(f"[{{{one}}}, {{{two}}}]"))
    assert message.endswith("co-runner 'lu libgomp small 2 mine' is repeated")
