"""Messages to whoever listens at any control server, in order, and again after a gap."""
