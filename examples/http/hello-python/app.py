"""Web handler in Python as a WASI command: a component that exports wasi:cli/run.

The request is in the variables of RFC 3875 and on stdin, the answer goes to stdout. The variables are asked for through
the imported interface: os.environ is what it was when the component was built.

    componentize-py -d wit -w handler componentize app -o ../hello-python.wasm
"""

import json
import sys
from urllib.parse import parse_qs

from wit_world import exports
from wit_world.imports import environment


class Run(exports.Run):
    """Entry point of a request."""

    def run(self) -> None:
        variables = dict(environment.get_environment())
        query = parse_qs(variables["QUERY_STRING"])
        answer = {"greeting": "hello", "name": query.get("name", ["world"])[0]}
        if variables["REQUEST_METHOD"] == "POST":
            answer["bytes"] = len(sys.stdin.buffer.read())
        sys.stdout.write("Content-Type: application/json\n\n")
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
