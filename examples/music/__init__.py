"""A music-streaming service on Orion; see README.md."""
