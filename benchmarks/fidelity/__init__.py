"""Do our own programs behave like the originals? Both, side by side."""
