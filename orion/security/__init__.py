"""What keeps whoever can reach Orion from reaching through it: names, and what stands in files and variables."""
