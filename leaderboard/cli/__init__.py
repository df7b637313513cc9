"""`submit`: send a training script, follow it to its score, read the board. No Django, no torch."""
