"""What a profile is: read from TOML, checked with file and line, shipped as templates. Source: contract laws."""
