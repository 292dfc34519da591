"""Python SDK on the import path, as in `kubewasp plugin test`: it is not part of the installed package."""

import sys

from kubewasp.projects.toolchain import sdk

sys.path.insert(0, str(sdk("python")))
