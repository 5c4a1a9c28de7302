"""Orion: a Kappa-architecture streaming data platform in one Python package."""

__version__ = "0.1.0"
