"""What formats share: above all those whose records name a schema of a registry."""
