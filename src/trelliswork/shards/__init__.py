"""Data in partitions: read one at a time, encoded in blocks, asked block by block."""

from trelliswork.shards.source import Shards

__all__ = ["Shards"]
