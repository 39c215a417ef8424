"""Stories of the tool gateway: who may call a tool, in whose name, and what of it anybody else can see."""
