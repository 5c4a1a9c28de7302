"""Card fraud on Orion; see README.md."""
