"""Logs of the flows of a real network: read, mapped to hosts, described, and written as a table of flows."""

from .logs import FlowLog, import_log

__all__ = ["FlowLog", "import_log"]
