"""From a user's command line to the study whose race answers how to run it."""
