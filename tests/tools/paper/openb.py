"""Generated traces in the openb format: some GPU nodes, and pods with no GPU, part of one, or whole ones."""

import csv
import random
from pathlib import Path

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)
MODELS = ("T4", "V100M16", "G2")
SHAPES = (("4000", "1", "500"), ("8000", "1", "1000"), ("2000", "1", "250"), ("32000", "4", "1000"), ("6000", "0", "0"))


def write(folder: Path, *, nodes: int = 8, pods: int = 40, seed: int = 1) -> Path:
    """A trace with GPUs for about half of its pods."""
    chance = random.Random(seed)
    with (folder / "openb_node_list_gpu_node.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(NODE_COLUMNS)
        for number in range(nodes):
            gpus = (2, 8)[number % 2]
            rows.writerow((f"openb-node-{number:04}", 16_000 * gpus, 65_536 * gpus, gpus, MODELS[number % 3]))
    with (folder / "openb_pod_list_default.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(POD_COLUMNS)
        for number in range(pods):
            cpu, gpus, milli = chance.choice(SHAPES)
            models = "|".join(MODELS[:2]) if gpus == "1" and not number % 5 else ""
            times = (100 * number, 100 * number + 5000, 100 * number)
            rows.writerow((f"openb-pod-{number:04}", cpu, "1024", gpus, milli, models, "LS", "Running", *times))
    return folder
