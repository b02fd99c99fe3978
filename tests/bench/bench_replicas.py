#!/usr/bin/env python3
"""How the host's cost of a training run grows with the number of replicas: 64 against 8, ratios from one run.

    tests/bench/bench_replicas.py [PROGRAM] [METHOD ...]

Every replica computes the same work, so time grows at least with their number. A run is one process: its user
time and its largest resident size are what the system says of it. Each figure is the least of three, the two
sizes taken in turn.
"""
import json
import os
import sys
import tempfile

METHODS = {
    "ddp": {}, "zero1": {}, "fsdp": {}, "hsdp": {}, "acco": {"gradient_wire": "f32", "parameter_wire": "f32"},
    "local-sgd": {"inner_steps": 5}, "diloco": {"inner_steps": 5}, "streaming-diloco": {"inner_steps": 5, "fragment_layers": 1},
    "noloco": {"inner_steps": 5}, "demo": {"top_k": 8}, "flexdemo": {"replicator": {"name": "demo", "top_k": 8}},
}


def scenario(method, nodes):
    return {"platform": {"file": "eight-by-two.json", "nodes": nodes},
            "workload": {"model": {"kind": "gpt", "depth": 2, "width": 64, "heads": 4, "context": 64},
                         "data": {"kind": "synthetic"}, "micro_batch_sequences": 4, "sequence_tokens": 64},
            "method": {"name": method, **METHODS[method]}, "run": {"mode": "train", "steps": 10}}


def cost(program, path):
    """User seconds and peak resident bytes of one run."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
        os.execv(program, [program, "predict", path])
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{path}: the run failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main():
    source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = sys.argv[1:]
    program = os.path.abspath(arguments.pop(0)) if arguments and arguments[0] not in METHODS else os.path.join(source, "build/longhaul")
    print(f"{'method':18}{'replicas':>10}{'time':>10}{'memory':>10}   64 over 8; per replica they would be 8")
    for method in arguments or METHODS:
        least = {}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                for replicas in (8, 64):
                    path = os.path.join(folder, f"{replicas}.json")
                    with open(path, "w") as file:
                        json.dump(scenario(method, replicas // 2), file)
                    now = cost(program, path)
                    least[replicas] = tuple(map(min, zip(now, least.get(replicas, now))))
        ratio = [big / small for big, small in zip(least[64], least[8])]
        print(f"{method:18}{'8 to 64':>10}{ratio[0]:>9.1f}x{ratio[1]:>9.1f}x   {least[8][0]:.2f} s, {least[8][1] / 1e6:.0f} MB; {least[64][0]:.2f} s, {least[64][1] / 1e6:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
