"""The sentences below figures."""

COMPARISONS_TITLE = "All comparisons of {noun}"
CHANGE_AXIS = "change of {estimand} {noun} against {baseline} (%)"
LESS_IS_BETTER, MORE_IS_BETTER = "left is better", "right is better"
HOW_TO_READ = (
    "A mark is a mapping's change against {baseline} with its 95 % interval; "
    "{better} of 0 is better."
)
BAND = "In the grey band, ±{margin} %, a change does not matter."
HOLLOW = "Hollow marks are undecided."
COMPRESSED = "The axis is compressed away from 0."
CUT = "An arrow is an interval that goes on beyond the edge."
WITHOUT_INTERVAL = "A mark without a line has no measured spread."
NOTHING_COMPARED = "no case is compared in {noun} with a baseline"
NOTHING_THERE = "Not drawn: {count} in which nothing is compared."
MARK = "{change} %"
MARK_WITH_INTERVAL = "{change} % ({low} to {high} %)"
COMPARISONS_ALT = (
    "{comparisons} in {configurations}: {outcomes}. The changes go from {low} % to {high} %."
)
