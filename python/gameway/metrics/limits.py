"""Limits in milliseconds above which delays are counted; each is a metric of its own."""

STALL_MS = (50, 100, 200)
"""Of frames: what is later is a stall."""
DELAY_MS = (10, 20, 50, 100)
"""Of a packet's wait in queues."""
