"""One suite over every plug-in of a kind."""
