"""Texts of schemas to values: one parser for each type, all over limits that keep a hostile text cheap."""
