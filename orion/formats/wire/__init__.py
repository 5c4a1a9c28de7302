"""What formats share whose records name a schema of a registry."""
