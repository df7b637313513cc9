"""Texts that nobody would write, in any number: `make fuzz` audits 100,000 of them, the suite a few hundred."""
