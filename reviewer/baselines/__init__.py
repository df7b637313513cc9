"""What a script shares with texts that everybody may start from: kits and frozen sections."""
