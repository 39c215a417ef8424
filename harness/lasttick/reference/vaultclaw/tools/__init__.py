"""The forty tools, one file for each group. Each file lists its tools in `TOOLS`; `all_tools` puts them together."""
