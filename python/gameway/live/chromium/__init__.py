"""Streams that a browser sends: two pages of Chromium, one at each end of a live run's path."""
