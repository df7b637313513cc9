"""Sealed places in which submitted code runs; theory of operation in box.py, limits of it in doctor.py."""
