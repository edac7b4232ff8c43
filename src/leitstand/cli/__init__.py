"""The command line: reads input, calls one domain function, shows the result."""
