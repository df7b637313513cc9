"""How a script trains: what is learned from which losses, and where steps begin and end."""
