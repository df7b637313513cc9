"""The files of a script: which it reads and writes, by which names."""
