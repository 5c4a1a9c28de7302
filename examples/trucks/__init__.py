"""A fleet of trucks on Orion; see README.md."""
