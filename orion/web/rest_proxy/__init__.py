"""Confluent's REST Proxy, as far as it isn't HTTP: its formats, consumer instances, errors and answers."""
