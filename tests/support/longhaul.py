"""Runs the built program as a user would, for tests.

LONGHAUL is the program's path (CTest sets it); LONGHAUL_SOURCE the source tree.
"""
import json
import os
import subprocess
import tempfile

PROGRAM = os.environ.get("LONGHAUL", "longhaul")
SOURCE = os.environ.get("LONGHAUL_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def call(*arguments, status=0, cwd=None, env=None):
    """Runs the program; returns (stdout, stderr). Any other exit status than `status` is a failure."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd,
                          env=None if env is None else {**os.environ, **env})
    if done.returncode != status:
        raise AssertionError(f"{' '.join(map(str, arguments))}: exit status {done.returncode}, not {status}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def predict(scenario, *flags, status=0, dump_lines=True):
    """Runs one scenario (a dict); returns its result row and the dump's lines (large for large models)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scenario.json")
        dump = os.path.join(folder, "dump.jsonl")
        with open(path, "w") as file:
            json.dump(scenario, file)
        wanted = ["--dump", dump] if dump_lines else []
        out, _ = call("predict", path, "--json", *wanted, *flags, status=status)
        lines = []
        if dump_lines:
            with open(dump) as file:
                lines = [json.loads(line) for line in file]
    row = json.loads(out)
    return (row[0] if isinstance(row, list) else row), lines


def error_of(scenario, status=2):
    """The error text of a scenario that must be refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scenario.json")
        with open(path, "w") as file:
            file.write(scenario if isinstance(scenario, str) else json.dumps(scenario))
        _, err = call("predict", path, "--json", status=status)
    return err


def star(nodes, accelerators=1, bandwidth="1Gbps", latency="50us", **keys):
    return {"schema": "longhaul/platform/1", "name": "star", "nodes": nodes, "accelerators_per_node": accelerators,
            "device": "ideal", "network": {"topology": "star", "bandwidth": bandwidth, "latency": latency},
            "fabric": {"bandwidth": "100GB/s", "latency": "1us"}, **keys}


def parameters(lines, rank, step):
    """The parameters of a rank after a step."""
    found = [line for line in lines if line["rank"] == rank and line["step"] == step]
    assert len(found) == 1, f"{len(found)} dump lines for rank {rank}, step {step}"
    return found[0]["parameters"]


def close(test, got, expected, digits, text=""):
    """Equal to so many printed decimals: half a unit of the last one, and float's own rounding."""
    test.assertEqual(len(got), len(expected), text)
    for i, (g, e) in enumerate(zip(got, expected)):
        bound = 0.5000001 * 10.0 ** -digits + 2e-7 * max(1.0, abs(e))
        test.assertLessEqual(abs(g - e), bound, f"{text} element {i}: got {g}, expected {e}")
