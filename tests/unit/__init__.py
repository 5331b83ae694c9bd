"""Pure tests: values in, values out. No server, no process, no run; seconds in all."""
