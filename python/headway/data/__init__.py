"""Results as data: the schema that the native module declares, one reader, one `Point`, units and statistics."""
