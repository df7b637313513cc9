"""Examples of rules that need many."""
