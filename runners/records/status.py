"""The status of a run, in one word; docs/records.md explains each."""

OK = "ok"
FAILED = "failed"
TIMEOUT = "timeout"
CHECK_FAILED = "check-failed"
PLACEMENT_VIOLATED = "placement-violated"
SETTINGS_CHANGED = "settings-changed"
CLOCK_DRIFTED = "clock-drifted"
SUSPENDED = "suspended"
INTERRUPTED = "interrupted"
SKIPPED = "skipped"
# Not a run: the record of an idle baseline.
BASELINE = "baseline"

# A run with one of these is part of the study; an interrupted one is made again.
FINAL = (
    OK, FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED, SETTINGS_CHANGED, CLOCK_DRIFTED,
    SUSPENDED,
)  # fmt: skip
