"""The lower limit of frequency."""

from __future__ import annotations

import re

from pinstudy.runners.node.cpufreq import POLICIES
from pinstudy.runners.settings.frequency_limit import FrequencyLimit


class MinFrequency(FrequencyLimit):
    """The lowest frequency of each policy."""

    name = "min_frequency"
    title = "the lowest frequency"
    file = "scaling_min_freq"
    paths = re.compile(rf"{POLICIES}/policy[0-9]{{1,5}}/{file}", re.ASCII)
