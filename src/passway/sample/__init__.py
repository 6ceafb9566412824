"""The bundled sample cluster: invented objects to try everything on, never anybody's cluster."""
