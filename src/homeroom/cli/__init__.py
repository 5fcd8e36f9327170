"""One module a command: parse, call one function, render its result."""
