"""The words in the file of a latency measurement, and the version of its layout."""

# The version of the file's layout; readers refuse unknown versions.
SCHEMA = 1
METHODS = ("cas", "store")
# Which pairs were measured: all, some of every class, or those that were named.
ALL, REPRESENTATIVE, GIVEN = "all", "representative", "given"
