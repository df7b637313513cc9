"""What is scored, beside what was trained."""
