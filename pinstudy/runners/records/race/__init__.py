"""Races: which cases a study still runs, and which one wins, decided from the runs alone."""
