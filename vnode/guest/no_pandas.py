"""Stands in the place of pandas/__init__.py in guests whose tests read records only.

An emulated processor takes ten seconds to import pandas and to write tables, after each study.
"""

raise ImportError("this guest has no pandas")
