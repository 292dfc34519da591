"""Scheduler configuration: data model, reader, validation, profile expansion and writer.

The format is KubeSchedulerConfiguration v1.

Private: not part of the documented API.
"""
