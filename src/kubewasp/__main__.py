"""`kubewasp` and `python -m kubewasp`: the command line, without a traceback for Ctrl-C during its imports."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from kubewasp.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
