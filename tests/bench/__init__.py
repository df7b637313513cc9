"""Speed, as ratios measured in one run: absolute times mean nothing on machines that others use too."""
