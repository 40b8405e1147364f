"""From a program's command line to the study whose race finds the best way to run it."""
