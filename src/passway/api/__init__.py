"""The REST service: adapters from HTTP to use cases; nothing here judges a VM."""
