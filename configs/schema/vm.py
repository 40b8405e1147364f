"""What a study's guest looks like in YAML: `{cpus: 8, memory: 16 GiB}`."""

from __future__ import annotations

import re

from marshmallow import ValidationError

from base.text import shown
from configs.schema.decode import Strict
from configs.schema.fields import Count, ValueField

# What QEMU's machine q35 can have.
MAX_VCPUS = 255
# A Debian kernel does not boot with less; no node of today has more.
LEAST_MIB, MOST_MIB = 128, 64 * 1024 * 1024

# Digits are bounded so that no number takes long to convert.
_MEMORY = re.compile(r"(\d{1,8})\s*(MiB|GiB)", re.ASCII)


class Memory(ValueField):
    """An amount of memory with its unit, as MiB."""

    def _convert(self, value: object) -> int:
        match = _MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            raise self.refuse(value)
        mebibytes = int(match[1]) * (1024 if match[2] == "GiB" else 1)
        if not LEAST_MIB <= mebibytes <= MOST_MIB:
            raise ValidationError(f"{shown(value)} is not from {LEAST_MIB} MiB to 64 TiB")
        return mebibytes


class VmSchema(Strict):
    """A guest."""

    cpus = Count("how many virtual CPUs the guest has", 1, MAX_VCPUS, required=True)
    memory = Memory("an amount of memory, such as 512 MiB or 16 GiB", required=True)
