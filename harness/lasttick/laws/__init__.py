"""What must hold on anybody's system: laws spoken in verbs, and how a profile binds the verbs to one target.

Source: contract laws.
"""
