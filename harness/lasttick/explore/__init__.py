"""The bridge to Hypothesis: settings, seeds and examples of property scenarios."""
