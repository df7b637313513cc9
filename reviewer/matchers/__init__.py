"""Places of one kind in a script, for the rules that ask about them."""
