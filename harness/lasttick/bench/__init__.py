"""How fast is it, and how fair? Ratios to floors that are measured in the same run; a benchmark never judges."""
