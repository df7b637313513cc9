"""Where a value comes from and where it goes, through names, fields, helpers and calls."""
