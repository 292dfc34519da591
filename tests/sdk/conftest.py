"""The Python SDK is no part of the installed package: its folder is put on the path, as `kubewasp plugin test` does."""

import sys

from kubewasp.projects.toolchain import sdk

sys.path.insert(0, str(sdk("python")))
