"""Clicks enriched by users, on Orion; see README.md."""
