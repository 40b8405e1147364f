"""What the study of shelves.py asks for, written out by hand, and its digest by the rule.

It is all that the study asks for with its defaults, but for titles, summaries, estimates and the
file's place; keys that are not used are left out where they came after the first studies.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

APP_LU: dict[str, Any] = {
    "name": "lu",
    "variants": {
        "serial": {"name": "serial", "program": "lu-serial", "runtime": "none"},
        "libgomp": {"name": "libgomp", "program": "lu-libgomp", "runtime": "libgomp"},
    },
    "sizes": {
        "small": {"name": "small", "arguments": ["100"], "quiet": False},
        "large": {"name": "large", "arguments": ["-q", "2000"], "quiet": True},
    },
    "arguments": ["{size}"],
    "metrics": [],
    "check": {"failed_status": None, "pattern": None, "stream": "stdout"},
    "schedules": ["static", "dynamic"],
    "default_schedule": "static,1",
    "limit_s": 600.0,
}
SCHEDULER = {"name": "scheduler", "selection": "all", "binding": "none", "mechanism": None}
PCORES_SET = {"name": "pcores-set", "selection": "pcores", "binding": "set", "mechanism": None}
PCORES_PIN = {"name": "pcores-pin", "selection": "pcores", "binding": "pin", "mechanism": None}
ASKED: dict[str, Any] = {
    "name": "x",
    "apps": [
        {
            "app": APP_LU,
            "variants": [APP_LU["variants"]["serial"]],
            "sizes": [APP_LU["sizes"]["small"]],
            "threads": [1],
            "schedules": [],
        }
    ],
    "mappings": [SCHEDULER, PCORES_PIN],
    "governors": ["performance"],
    "warmup": 1,
    "order": "randomised-blocks",
    "seed": 1,
    "wait_policies": ["passive"],
    "collect": ["perf", "energy"],
    "events": [],
}


def sha256(asked: dict[str, object]) -> str:
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
