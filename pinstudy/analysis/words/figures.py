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
# What marks say when they are pointed at.
RUN, ON_KIND, OF_THREAD = "{case}, run {run}", "{case}, {cores}", "{case}, thread {thread}, {cores}"
MARK = "{change} %"
PLANE_MARK = "time {time}, energy {energy} %"
MARK_WITH_INTERVAL = "{change} % ({low} to {high} %)"
COMPARISONS_ALT = (
    "{comparisons} in {configurations}: {outcomes}. The changes go from {low} % to {high} %."
)

PLANE_TITLE = "Time against energy"
PLANE_GUESTS_TITLE = "Time against energy in guests"
PLANE_TIME, PLANE_ENERGY = "change of mean time (%)", "change of mean package energy (%)"
EQUAL_PRODUCT = "equal energy-delay product"
PLANE_HOW = (
    "A marker is a case against {reference} of its panel, at the crossing of the lines; "
    "the lower left corner is best."
)
PLANE_INTERVALS = "Lines are 95 % intervals of the case's own mean time."
LEAST = {"T": "time", "E": "energy", "EDP": "energy-delay product"}
PLANE_LABELS = "T, E and EDP are at the least time, energy and energy-delay product of a panel."
PLANE_SETTINGS = "The filling tells the setting."
PLANE_LOST = (
    "Not drawn: {cases} that lost more than a tenth of the runs, or did not make them in turn."
)
PLANE_MORE = "{programs} more have no panel."
PLANE_NO_BASELINE = "no case of which time and energy are known has a baseline of which they are"
PLANE_ALL_LOST = (
    "every case, or its baseline, lost more than a tenth of its runs, or did not make them in turn"
)
PLANE_ALT = "{cases} by time and energy. {extremes}"
PLANE_EXTREME = "{panel}: least {label} with {case}, {time} % time and {energy} % energy."
