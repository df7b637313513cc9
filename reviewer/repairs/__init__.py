"""Repairs of a text: edits that leave every other byte alone."""
