"""What the elasticsearch sink is made of: JSON values, mappings, index names, the HTTP client and the bulk API."""
