"""Probes that prove, one by one, that this machine can give safe rooms."""
