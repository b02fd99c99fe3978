"""Which replicas are equal after 50 steps: to the bit on all ranks where the method says so, and apart by a reported
spread where it does not. A small GPT on 4 nodes of 2 accelerators, whose ranks read different text."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import predict, star

STEPS = 50
GPT = {"model": {"kind": "gpt", "depth": 2, "width": 8, "heads": 2, "context": 8, "vocabulary": 32}, "sequence_tokens": 8,
       "micro_batch_sequences": 2, "data": {"kind": "synthetic", "states": 16}}
ADAMW = {"name": "adamw", "learning_rate": 1e-3}
SGD = {"name": "sgd", "learning_rate": 1e-3}

EQUAL = [
    {"name": "ddp", "optimizer": ADAMW},
    {"name": "ddp", "optimizer": ADAMW, "gradient_wire": "bf16", "clip_norm": 0.5},
    {"name": "zero1", "optimizer": ADAMW, "bucket": "500B", "first_bucket": "100B"},
    {"name": "zero1", "optimizer": ADAMW, "variant": "reference"},
    {"name": "fsdp", "optimizer": ADAMW},
    {"name": "hsdp", "optimizer": ADAMW, "clip_norm": 0.5},
    {"name": "hsdp", "optimizer": ADAMW, "replicator": {"name": "demo", "chunk": 8, "top_k": 2}},
    {"name": "ddp", "optimizer": ADAMW, "replicator": {"name": "random", "rate": 0.5}},
    {"name": "flexdemo", "optimizer": SGD, "replicator": {"name": "demo", "chunk": 8, "top_k": 2}},
    {"name": "flexdemo", "optimizer": SGD, "overlap": "stale1"},
    {"name": "flexdemo", "optimizer": ADAMW},
    {"name": "flexdemo", "optimizer": SGD, "replicator": "random"},
    {"name": "flexdemo", "optimizer": SGD, "replicator": {"name": "striding", "rows": "fixed"}},
    {"name": "flexdemo", "optimizer": SGD, "replicator": "full"},
    {"name": "acco", "optimizer": ADAMW},
    {"name": "acco", "optimizer": ADAMW, "variant": "dpu", "warmup_steps": 5},
    {"name": "acco", "optimizer": ADAMW, "variant": "wp", "gradient_wire": "f32"},
    {"name": "local-sgd", "inner_steps": 10, "optimizer": SGD},  # 50 steps end with an average
    {"name": "diloco", "inner_steps": 10, "optimizer": ADAMW},
    {"name": "demo", "chunk": 8, "top_k": 2, "optimizer": SGD},
]
APART = [
    {"name": "hsdp", "optimizer": ADAMW, "replicator": "none"},
    {"name": "flexdemo", "optimizer": SGD, "replicator": "none"},
    {"name": "flexdemo", "optimizer": SGD, "replicator": "full", "replicate_every": 2},
    {"name": "local-sgd", "inner_steps": 8, "optimizer": SGD},  # two steps after the last average
    {"name": "diloco", "inner_steps": 8, "optimizer": ADAMW},
    {"name": "streaming-diloco", "inner_steps": 10, "fragment_layers": 1, "optimizer": ADAMW},
    {"name": "noloco", "inner_steps": 10, "optimizer": ADAMW},
]


def run(method):
    return predict({"platform": star(4, 2), "workload": GPT, "method": method, "run": {"mode": "train", "steps": STEPS}})


def replicas(lines):
    """Parameters after the last step, by rank: a full copy, or a shard with its place."""
    return {line["rank"]: (line.get("offset", 0), line["parameters"]) for line in lines if line["step"] == STEPS}


def full_copies(lines, elements):
    """All full copies that there are; shards are put together with their neighbours' in rank order."""
    copies, begun = [], []
    for _, (offset, values) in sorted(replicas(lines).items()):
        if offset == 0:
            begun = []
            copies.append(begun)
        begun.extend(values)
    assert all(len(copy) == elements for copy in copies), [len(copy) for copy in copies]
    return copies


class Agreement(unittest.TestCase):
    def test_equal_to_the_bit(self):
        for method in EQUAL:
            with self.subTest(method=method):
                row, lines = run(method)
                self.assertEqual(row["replica_spread"], 0)
                start = next(line["parameters"] for line in lines if line["step"] == 1 and line["rank"] == 0)
                copies = full_copies(lines, len(start))
                self.assertEqual(len(copies), 8)
                self.assertTrue(all(copy == copies[0] for copy in copies))
                self.assertNotEqual(copies[0], start)

    def test_apart_by_what_is_reported(self):
        for method in APART:
            with self.subTest(method=method):
                row, lines = run(method)
                copies = list(zip(*full_copies(lines, len(replicas(lines)[0][1]))))
                means = [sum(values) / len(values) for values in copies]
                variance = sum(sum((x - mean) ** 2 for x in values) / len(values) for values, mean in zip(copies, means))
                expected = (variance / len(copies)) ** 0.5
                self.assertGreater(expected, 0)
                self.assertAlmostEqual(row["replica_spread"] / expected, 1, places=5)
                print(f"{method['name']}: replica_spread {row['replica_spread']:.6f}", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
