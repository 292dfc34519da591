"""Targets, a module each."""
