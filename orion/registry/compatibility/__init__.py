"""Whether a schema goes together with those before it. Each check gives all that doesn't, each with its path."""
