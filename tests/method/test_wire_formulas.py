"""Bytes on the wire per rank and step, inside and between nodes, against each page's formula: R nodes of S accelerators,
R and S in 1, 2, 3, 4, 8. One tensor of 1728 parameters, which every S and R S divides."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import predict, star

P = 1728
SIZES = 1, 2, 3, 4, 8
STEPS = 4
RING = {kind: "ring" for kind in ("all_reduce", "all_gather", "reduce_scatter")}


def sent(nodes, accelerators, method, mode="cost"):
    """Mean over ranks, per step: (between nodes, inside)."""
    ranks = nodes * accelerators
    workload = {"model": "quadratic", "start": [0.5] * P, "curvature": [1.0] * P,
                "optimum": [[float(r % 7)] * P for r in range(ranks)]}
    row, _ = predict({"platform": star(nodes, accelerators), "workload": workload, "method": method,
                      "run": {"mode": mode, "steps": STEPS, "collectives": {**RING, "broadcast": "binomial-tree"}}},
                     dump_lines=False)
    return row["inter_node_bytes_per_step"], row["intra_node_bytes_per_step"]


def around_the_world(nodes, accelerators, total):
    """A ring through all ranks in order leaves a node at its last rank only."""
    if nodes == 1:
        return 0, total
    return total / accelerators, total - total / accelerators


def fraction(n):
    return (n - 1) / n


class Formulas(unittest.TestCase):
    def check(self, method, formula, mode="cost"):
        for nodes in SIZES:
            for accelerators in SIZES:
                got = sent(nodes, accelerators, method, mode)
                for part, g, e in zip(("inter", "intra"), got, formula(nodes, accelerators)):
                    self.assertAlmostEqual(g, e, places=6, msg=f"{method['name']}, R {nodes}, S {accelerators}, {part}")

    def check_world(self, method, total):
        self.check(method, lambda r, s: around_the_world(r, s, total(r * s)))

    def test_ddp(self):
        for wire, size in ("f32", 4), ("bf16", 2):
            self.check_world({"name": "ddp", "gradient_wire": wire}, lambda n: 2 * fraction(n) * size * P)

    def test_zero1(self):
        self.check_world({"name": "zero1"}, lambda n: fraction(n) * (2 + 2) * P)
        self.check_world({"name": "zero1", "gradient_wire": "f32"}, lambda n: fraction(n) * (4 + 2) * P)

    def test_zero1_reference(self):
        """An all-reduce and a broadcast, whose tree crosses nodes as it likes: the sum."""
        for nodes in SIZES:
            for accelerators in SIZES:
                n = nodes * accelerators
                got = sent(nodes, accelerators, {"name": "zero1", "variant": "reference"})
                self.assertAlmostEqual(sum(got), fraction(n) * (8 + 4) * P, places=6, msg=f"R {nodes}, S {accelerators}")

    def test_fsdp(self):
        self.check_world({"name": "fsdp"}, lambda n: fraction(n) * (2 * 2 + 2) * P)
        self.check_world({"name": "fsdp", "reshard_after_forward": False, "gradient_wire": "f32"},
                         lambda n: fraction(n) * (2 + 4) * P)

    def test_hsdp(self):
        self.check({"name": "hsdp"}, lambda r, s: (2 * fraction(r) * 2 * P / s, fraction(s) * (2 * 2 + 2) * P))

    def test_flexdemo(self):
        """A shard of P / S in chunks of 24 with 4 entries of 8 bytes; a quarter of its rows; all of it."""
        inside = lambda s: fraction(s) * (2 * 2 + 2) * P
        self.check({"name": "flexdemo", "replicator": {"name": "demo", "chunk": 24, "top_k": 4}},
                   lambda r, s: ((r - 1) * P / s / 24 * 4 * (4 + 4), inside(s)))
        self.check({"name": "flexdemo", "replicator": {"name": "random", "rate": 0.25}},
                   lambda r, s: (2 * fraction(r) * 4 * (P // s // 4), inside(s)))
        self.check({"name": "flexdemo", "replicator": {"name": "striding", "rate": 0.25, "chunk": 24}},
                   lambda r, s: (2 * fraction(r) * 4 * P / s / 4, inside(s)))
        self.check({"name": "flexdemo", "replicator": "full"}, lambda r, s: (2 * fraction(r) * 2 * P / s, inside(s)))
        self.check({"name": "flexdemo", "replicator": "none"}, lambda r, s: (0, inside(s)))

    def test_demo(self):
        """27 chunks of 64, 32 entries of 8 and 4 bytes each, to all others."""
        self.check_world({"name": "demo"}, lambda n: (n - 1) * P // 64 * 32 * (8 + 4))

    def test_acco(self):
        """Two rounds a step, or one. Each has a count of 4 B, one element that goes around twice, by all links but one: of
        the links between nodes, all or all but one."""
        for method, rounds, size in (({"name": "acco"}, 2, 2 + 2), ({"name": "acco", "variant": "dpu", "gradient_wire": "f32"},
                                                                      1, 4 + 2)):
            for nodes in SIZES:
                for accelerators in SIZES:
                    n = nodes * accelerators
                    inter, intra = sent(nodes, accelerators, method)
                    payload = rounds * fraction(n) * size * P
                    self.assertAlmostEqual(inter + intra, payload + rounds * 2 * fraction(n) * 4, places=6)
                    counts = inter - around_the_world(nodes, accelerators, payload)[0]
                    low, high = (0, 0) if nodes == 1 else (nodes - 1, min(nodes, n - 1))
                    self.assertGreaterEqual(counts, rounds * 2 * low * 4 / n - 1e-6, (nodes, accelerators))
                    self.assertLessEqual(counts, rounds * 2 * high * 4 / n + 1e-6, (nodes, accelerators))

    def test_local_methods(self):
        """Every second of four steps."""
        self.check_world({"name": "local-sgd", "inner_steps": 2}, lambda n: 2 * fraction(n) * 4 * P / 2)
        self.check_world({"name": "diloco", "inner_steps": 2, "outer_wire": "bf16"}, lambda n: 2 * fraction(n) * 2 * P / 2)
        self.check_world({"name": "streaming-diloco", "inner_steps": 2}, lambda n: (n - 1) * P / 2 / 2)

    def test_noloco(self):
        """Rank i and rank i + n/2: on different nodes unless there is but one. phi and Delta, both ways."""
        for nodes in SIZES:
            for accelerators in SIZES:
                half = nodes * accelerators // 2
                if nodes * accelerators % 2:
                    continue
                got = sent(nodes, accelerators, {"name": "noloco", "inner_steps": 2,
                                                 "pairs": [[[i, i + half] for i in range(half)]]})
                bytes_per_step = 2 * 4 * P / 2
                self.assertEqual(got, (0, bytes_per_step) if nodes == 1 else (bytes_per_step, 0), (nodes, accelerators))

    def test_real_tensors_send_the_same(self):
        for method in ({"name": "ddp"}, {"name": "zero1"}, {"name": "zero1", "variant": "reference"}, {"name": "fsdp"},
                       {"name": "hsdp"}, {"name": "flexdemo"}, {"name": "demo"}, {"name": "acco"},
                       {"name": "local-sgd", "inner_steps": 2}, {"name": "diloco", "inner_steps": 2},
                       {"name": "streaming-diloco", "inner_steps": 2}, {"name": "noloco", "inner_steps": 2}):
            with self.subTest(method=method):
                self.assertEqual(sent(2, 3, method, "train"), sent(2, 3, method, "cost"))


if __name__ == "__main__":
    unittest.main()
