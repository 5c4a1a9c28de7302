"""An integration hub: one database's changes, joined with clicks, in a lake, a database and a search index."""
