"""The kernel of Hermes: a plugin host, an agent loop, a gate and a store. No vendor, no tool."""

__version__ = "0.1.0"
