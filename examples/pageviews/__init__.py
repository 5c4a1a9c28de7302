"""Page views by region, on Orion; see README.md."""
