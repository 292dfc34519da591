"""Languages side by side: one policy in every language, and one wasteful policy with every kind of collector.

Private: not part of the documented API.
"""
