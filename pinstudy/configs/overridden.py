"""A study as the options of a command change it: keys replaced, cases kept or left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pinstudy.base.errors import UserError
from pinstudy.base.text import nearest, shown, unknown_word
from pinstudy.configs.checks import Resolver
from pinstudy.configs.decoding import Path
from pinstudy.configs.mapping import Mapping as CpuMapping
from pinstudy.configs.mapping import renamed, unknown_mapping
from pinstudy.configs.overrides import Overrides
from pinstudy.configs.settings import Governor
from pinstudy.configs.study import AppChoice, ThreadCount
from pinstudy.configs.values import option_value

_VCPU_MAPPING = "vcpu_mapping"


def override(resolver: Resolver, resolved: dict[str, Any], overrides: Overrides) -> dict[str, Any]:
    """Return a study's values by field as the options change them.

    `resolver` has checked its file, `resolved` are the values that it found. Raises UserError for
    what cannot be.
    """
    values: dict[str, Any] = resolver.data | resolved
    if overrides.governors or overrides.threads or overrides.mappings:
        values = _replaced(resolver, values, overrides)
    if overrides.only or overrides.exclude:
        values |= _chosen(values, overrides)
    return values


def _replaced(
    resolver: Resolver, resolved: Mapping[str, Any], overrides: Overrides
) -> dict[str, Any]:
    """Return the values with other governors, threads and mappings, checked as those of a file."""
    values = dict(resolver.data)
    entries = [dict(entry) for entry in values["apps"]]
    keys = set(resolver.keys)
    known = resolver.known | {mapping.name: mapping for mapping in _mappings_of(resolved)}
    if overrides.governors:
        governors = option_value("--governors", list(overrides.governors), tuple[Governor, ...])
        values["governors"] = governors
        if factors := values.get("settings"):
            values["settings"] = replace(factors, governor=None)
    if overrides.threads:
        threads = option_value("--threads", list(overrides.threads), tuple[ThreadCount, ...])
        entries = list(_with_threads(entries, resolved["apps"], threads))
        if not entries:
            raise UserError(f"--threads: every build of study {values['name']} runs one thread")
    if overrides.mappings:
        values["mappings"] = _named_mappings(overrides.mappings, known)
        keys.add("mappings")
        entries = [{k: v for k, v in entry.items() if k != "mappings"} for entry in entries]
    values["apps"] = tuple(entries)
    again = replace(resolver, data=values, keys=keys, known=known, mistakes=[], elsewhere=[])
    values |= again.resolve()
    for path, message in again.mistakes:
        raise UserError(f"{_option_of(path, overrides)}: {message}")
    return values


def _with_threads(
    entries: Sequence[dict[str, Any]], choices: Sequence[AppChoice], threads: tuple[int, ...]
) -> Iterator[dict[str, Any]]:
    """Yield the entries with these thread counts; builds without threads run one, or not at all.

    Entries that differed in their threads alone are one then.
    """
    before = []
    for entry, choice in zip(entries, choices, strict=True):
        single = any(build.runtime == "none" for build in choice.builds)
        its_threads = tuple(n for n in threads if n == 1) if single else threads
        wanted = entry | {"threads": its_threads}
        if its_threads and wanted not in before:
            before.append(wanted)
            yield wanted


def _mappings_of(resolved: Mapping[str, Any]) -> Iterator[CpuMapping]:
    for choice in resolved["apps"]:
        yield from resolved["mappings"] if choice.mappings is None else choice.mappings


def _named_mappings(
    names: Collection[str], known: Mapping[str, CpuMapping]
) -> tuple[CpuMapping, ...]:
    for name in names:
        if name not in known:
            raise UserError(f"--mappings: {unknown_mapping(name, known)}")
    return tuple(known[name] for name in dict.fromkeys(names))


def _option_of(path: Path, overrides: Overrides) -> str:
    """Return the option whose value a mistake is about, or all of them."""
    for name, option in (("threads", "--threads"), ("mappings", "--mappings")):
        if name in path and getattr(overrides, name):
            return option
    return " ".join(overrides.of_cases)


@dataclass(frozen=True)
class _Words:
    """The names of a study's cases by what they name."""

    study: str
    names: Mapping[str, Collection[str]]

    def matched(self, option: str, words: Iterable[str]) -> dict[str, set[str]]:
        """Return the words by what they name; raises UserError for those that name nothing."""
        matched: dict[str, set[str]] = {}
        unknown = []
        for word in words:
            kinds, name = self._kinds_of(option, word)
            if len(kinds) > 1:
                forms = " or ".join(f"{kind}={name}" for kind in kinds)
                raise UserError(f"{option}: {shown(name)} has several meanings: write {forms}")
            if kinds:
                matched.setdefault(kinds[0], set()).add(name)
            else:
                unknown.append(word)
        if unknown:
            raise UserError(f"{option}: {self._problem(unknown)}")
        return matched

    def _kinds_of(self, option: str, word: str) -> tuple[list[str], str]:
        kind, equals, name = word.rpartition("=")
        if equals and kind not in self.names:
            raise UserError(f"{option}: {unknown_word('word before =', kind, self.names)}")
        kinds = [kind] if equals else list(self.names)
        return [kind for kind in kinds if name in self.names[kind]], name

    def _problem(self, unknown: Iterable[str]) -> str:
        known = list(dict.fromkeys(name for names in self.names.values() for name in names))
        told = []
        for word in unknown:
            if message := renamed(word.rpartition("=")[2]):
                return message
            near = nearest(word.rpartition("=")[2], known)
            told.append(shown(word) + (f" (did you mean {near!r}?)" if near else ""))
        *first, last = self.names
        kinds = f"{', '.join(first)} or {last}"
        return f"{', '.join(told)}: no {kinds} of study {self.study} ({', '.join(known)})"


def _chosen(values: Mapping[str, Any], overrides: Overrides) -> dict[str, Any]:
    """Return apps and mappings of the cases that --only and --exclude leave."""
    choices: Sequence[AppChoice] = values["apps"]
    names: dict[str, list[str]] = {
        "app": [choice.app.name for choice in choices],
        "build": [build.name for choice in choices for build in choice.builds],
        "size": [size.name for choice in choices for size in choice.sizes],
        "mapping": [mapping.name for mapping in _mappings_of(values)],
    }
    if values["vcpu_mappings"]:
        names[_VCPU_MAPPING] = [mapping.name for mapping in values["vcpu_mappings"]]
    words = _Words(values["name"], names)
    only = words.matched("--only", overrides.only)
    out = words.matched("--exclude", overrides.exclude)

    def kept(kind: str, items: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(
            item
            for item in items
            if item.name in only.get(kind, (item.name,)) and item.name not in out.get(kind, ())
        )

    mappings = kept("mapping", values["mappings"])
    vcpu_mappings = kept(_VCPU_MAPPING, values["vcpu_mappings"])
    apps = []
    for choice in choices:
        builds, sizes = kept("build", choice.builds), kept("size", choice.sizes)
        own = None if choice.mappings is None else kept("mapping", choice.mappings)
        if kept("app", [choice.app]) and builds and sizes and (mappings if own is None else own):
            apps.append(replace(choice, builds=builds, sizes=sizes, mappings=own))
    if not apps or len(vcpu_mappings) < bool(values["vcpu_mappings"]):
        raise UserError(
            f"{' '.join(overrides.of_cases)}: no case of study {values['name']} is left"
        )
    return {"apps": tuple(apps), "mappings": mappings, "vcpu_mappings": vcpu_mappings}
