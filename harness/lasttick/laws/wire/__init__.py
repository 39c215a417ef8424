"""One caller's way to the target: a filled message goes out, a Reply comes back. Nothing here knows of laws.

No message is ever sent twice, by us or by a library. Source: contract laws, "Binding".
"""
