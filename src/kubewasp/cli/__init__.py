"""The `kubewasp` command line.

Each group of commands has a module `GROUP_commands` with options and help, which imports nothing slow. The work of a
command is in a module of its own name (`plugin_call` for `kubewasp plugin call`), imported when the command runs.

Private: not part of the documented API.
"""
