"""Searching with knowledge that people gave: the yardstick, the engine, the exact solver and its book; no learning."""
