"""What the study of shelves.py asks for, written out by hand, and its digest by the rule.

It is all that the study asks for with its defaults, but for titles, summaries, estimates, the
file's place, and keys without a value. The app is there by its own digest.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def sha256(asked: dict[str, Any]) -> str:
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


APP_LU: dict[str, Any] = {
    "name": "lu",
    "variants": {
        "serial": {"name": "serial", "program": "lu-serial", "runtime": "none"},
        "libgomp": {"name": "libgomp", "program": "lu-libgomp", "runtime": "libgomp"},
    },
    "sizes": {
        "small": {"name": "small", "arguments": ["100"], "quiet": False, "expect": {}},
        "large": {"name": "large", "arguments": ["-q", "2000"], "quiet": True, "expect": {}},
    },
    "arguments": ["{size}"],
    "metrics": [],
    "check": {"stream": "stdout", "command": []},
    "schedules": ["static", "dynamic"],
    "default_schedule": "static,1",
    "limit_s": 600.0,
}
SCHEDULER = {"name": "scheduler", "selection": "all", "binding": "none"}
PCORES_SET = {"name": "pcores-set", "selection": "pcores", "binding": "set"}
PCORES_PIN = {"name": "pcores-pin", "selection": "pcores", "binding": "pin"}
ASKED: dict[str, Any] = {
    "name": "x",
    "apps": [
        {
            "app": sha256(APP_LU),
            "variants": [APP_LU["variants"]["serial"]],
            "sizes": [APP_LU["sizes"]["small"]],
            "threads": [1],
            "schedules": [],
            "oversubscribe": False,
        }
    ],
    "mappings": [SCHEDULER, PCORES_PIN],
    "vcpu_mappings": [],
    "governors": ["performance"],
    "warmup": 1,
    "order": "randomised-blocks",
    "seed": 1,
    "wait_policies": ["passive"],
    "collect": ["perf", "energy"],
    "events": [],
}
