"""Scripts that carry another one: decoded without being run."""
