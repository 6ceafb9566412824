"""Use cases, one module each, over the Protocols of `ports` that the adapters satisfy."""
