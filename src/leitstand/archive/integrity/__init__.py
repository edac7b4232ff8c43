"""Whether stored objects and the database that names them agree, and whether content is right."""
