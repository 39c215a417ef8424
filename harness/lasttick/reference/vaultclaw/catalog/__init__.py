"""The catalog on disk: cookbooks and remote sources, shared by all processes that use one folder."""
