"""`python -m tools.bench`: the command line of the benchmarks."""

from kubewasp.cli.main import run_app
from tools.bench.cli import app
from tools.bench.labels import PROG


def main() -> None:
    run_app(app, PROG)


if __name__ == "__main__":
    main()
