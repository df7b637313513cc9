"""What comes from outside of the text: variables, flags, the launch command, the machine."""
