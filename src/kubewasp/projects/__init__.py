"""Plugin projects: scaffolding, builds and tests. A project is a folder with one plugin in Go, Python or Rust.

Private: not part of the documented API.
"""
