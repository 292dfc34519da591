"""A cluster in memory: objects, controllers, scenarios and simulated time.

Private: not part of the documented API.
"""
