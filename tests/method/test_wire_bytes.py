"""Wire bytes per rank and step against the formulas of the pages, for 2, 3 and 8 ranks; and their time."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import predict, star

P = 37  # parameters of the problem: awkward, so that chunks are uneven


def run(ranks, method, steps, mode="train", **platform):
    workload = {"model": "quadratic", "start": [0.5] * P, "curvature": [1.0] * P,
                "optimum": [[float(rank)] * P for rank in range(ranks)], "micro_batch_time": "1s"}
    return predict({"platform": star(ranks, **platform), "workload": workload, "method": method,
                    "run": {"mode": mode, "steps": steps, "collectives": {"all_reduce": "ring", "all_gather": "ring"}}})


def sent_at(lines, step):
    return [line["inter_node_bytes"] for line in lines if line["step"] == step]


def ring_all_reduce_bytes(ranks, member, elements, element_bytes):
    """Chunks of ceil or floor size (the first elements mod ranks are longer). Around the ring a member
    sends every chunk but one in the reduce-scatter and every chunk but one in the all-gather: in the
    first all but the one it ends up owning, in the second all but the one its successor owns."""
    chunk = [elements // ranks + (1 if c < elements % ranks else 0) for c in range(ranks)]
    return [2 * elements - chunk[a] - chunk[b] for a in range(ranks) for b in range(ranks)
            if b == (a + 1) % ranks][member] * element_bytes


class WireBytes(unittest.TestCase):
    RANKS = (2, 3, 8)

    def check_all_reduce(self, got, ranks, times, element_bytes):
        self.assertEqual(sum(got), times * 2 * (ranks - 1) * P * element_bytes, f"{ranks} ranks in all")
        allowed = sorted(ring_all_reduce_bytes(ranks, member, P, element_bytes) * times for member in range(ranks))
        self.assertEqual(sorted(got), allowed, f"{ranks} ranks, each")

    def test_ddp(self):
        for ranks in self.RANKS:
            for wire, size in ("f32", 4), ("bf16", 2):
                row, lines = run(ranks, {"name": "ddp", "gradient_wire": wire}, 3)
                self.check_all_reduce(sent_at(lines, 1), ranks, 1, size)
                self.check_all_reduce(sent_at(lines, 3), ranks, 3, size)
                self.assertAlmostEqual(row["inter_node_bytes_per_step"], 2 * (ranks - 1) / ranks * P * size)
                self.assertEqual(row["intra_node_bytes_per_step"], 0)

    def test_periodic_all_reduce(self):
        for ranks in self.RANKS:
            for name in "local-sgd", "diloco":
                _, lines = run(ranks, {"name": name, "inner_steps": 3}, 7)
                self.assertEqual(sent_at(lines, 2), [0] * ranks)
                self.check_all_reduce(sent_at(lines, 3), ranks, 1, 4)
                self.check_all_reduce(sent_at(lines, 7), ranks, 2, 4)

    def test_noloco(self):
        for ranks in self.RANKS:
            for wire, size in ("f32", 4), ("bf16", 2):
                _, lines = run(ranks, {"name": "noloco", "inner_steps": 2, "exchange_wire": wire}, 4)
                paired = 2 * P * size
                first = sent_at(lines, 2)
                self.assertEqual(sorted(first), [0] * (ranks % 2) + [paired] * (ranks - ranks % 2))
                self.assertEqual(sum(sent_at(lines, 4)), 2 * sum(first))

    def test_demo(self):
        # 37 is prime: chunk 8 gives chunks of 1, 37 of them, one coefficient each; chunk 64 one of 37
        for ranks in self.RANKS:
            for chunk, kept in (8, 37), (64, 5):
                for wire, entry in ("i64-f32", 12), ("i32-f32", 8), ("narrow-f32", 5):
                    _, lines = run(ranks, {"name": "demo", "chunk": chunk, "top_k": 5, "wire_format": wire}, 2)
                    self.assertEqual(sent_at(lines, 1), [(ranks - 1) * kept * entry] * ranks)
                    self.assertEqual(sent_at(lines, 2), [2 * (ranks - 1) * kept * entry] * ranks)

    def test_signs_are_packed_per_tensor_and_rank(self):
        """Tensors of 5 and 10 chunks, 2 kept of each: index bytes 10 + 20, signs ceil(10/8) + ceil(20/8)."""
        for ranks in self.RANKS:
            workload = {"model": "quadratic", "start": [0.5] * 120, "curvature": [1.0] * 120, "layers": [40, 80],
                        "optimum": [[float(rank)] * 120 for rank in range(ranks)], "micro_batch_time": "1s"}
            method = {"name": "demo", "chunk": 8, "top_k": 2, "wire_format": "narrow-1bit"}
            row, lines = predict({"platform": star(ranks, **Time.NETWORK), "workload": workload, "method": method,
                                  "run": {"mode": "train", "steps": 2, "collectives": {"all_gather": "ring"}}})
            self.assertEqual(sent_at(lines, 1), [(ranks - 1) * (10 + 2 + 20 + 3)] * ranks)
            self.assertAlmostEqual(row["step_s"], 1 + (ranks - 1) * (4 * 0.5 + 35 / 1000), places=9)

    def test_cost_mode_counts_the_same(self):
        for method in ({"name": "ddp"}, {"name": "diloco", "inner_steps": 2}, {"name": "noloco", "inner_steps": 2},
                       {"name": "demo", "chunk": 8, "top_k": 1}, {"name": "local-sgd", "inner_steps": 2}):
            real, real_lines = run(3, method, 4)
            phantom, phantom_lines = run(3, method, 4, mode="cost")
            for key in ("inter_node_bytes_per_step", "inter_node_bytes_per_step_max", "wall_clock_s", "peak_memory_bytes",
                        "compute_s", "exposed_communication_s"):
                self.assertEqual(real[key], phantom[key], f"{method['name']} {key}")
            self.assertEqual([line["virtual_time_s"] for line in real_lines],
                             [line["virtual_time_s"] for line in phantom_lines], method["name"])


class Time(unittest.TestCase):
    """Virtual time by hand: steps of 1 s, 1000 bytes a second, 0.25 s from a node to the switch."""
    NETWORK = {"bandwidth": "1kB/s", "latency": "0.25s"}

    def test_ddp_step(self):
        for ranks in (2, 3, 8):
            row, _ = run(ranks, {"name": "ddp"}, 3, **self.NETWORK)
            collective = 2 * (ranks - 1) * (0.5 + 4 * P / ranks / 1000)
            self.assertAlmostEqual(row["step_s"], 1 + collective, places=6)
            self.assertAlmostEqual(row["compute_s"], 3, places=9)
            self.assertAlmostEqual(row["exposed_communication_s"], 3 * collective, places=6)
            self.assertAlmostEqual(row["straggler_wait_s"], 0, places=9)
            self.assertAlmostEqual(row["utilisation"], 1 / (1 + collective), places=6)

    def test_buckets_of_ddp(self):
        """Three tensors of 16 B, from the last: so many all-reduces of two messages of 0.5 s each, one after another."""
        workload = {"model": "quadratic", "start": [0.5] * 12, "curvature": [1.0] * 12, "layers": [4, 4, 4],
                    "optimum": [[0.0] * 12] * 2}
        for first, bucket, count in (("1B", "1B", 3), ("1B", "1GiB", 2), ("17B", "1B", 2), ("1GiB", "1B", 1), ("17B", "1GiB", 2)):
            row, _ = predict({"platform": star(2, bandwidth="1000GB/s", latency="0.25s"), "workload": workload,
                              "method": {"name": "ddp", "first_bucket": first, "bucket": bucket},
                              "run": {"mode": "train", "steps": 2, "collectives": {"all_reduce": "ring"}}})
            self.assertAlmostEqual(row["step_s"], count * 2 * 0.5, places=6, msg=f"{first}, {bucket}")

    def test_noloco_round(self):
        row, _ = run(2, {"name": "noloco", "inner_steps": 4}, 8, **self.NETWORK)
        self.assertAlmostEqual(row["wall_clock_s"], 8 + 2 * (0.5 + 2 * 4 * P / 1000), places=6)

    def test_slow_rank(self):
        """One rank takes 3 s a step, the other 1 s: the fast one waits 2 s for it every step."""
        workload = {"model": "quadratic", "start": [0.0], "curvature": [1.0], "optimum": [[0.0], [1.0]],
                    "micro_batch_time": ["1s", "3s"]}
        row, _ = predict({"platform": star(2, **self.NETWORK), "workload": workload, "method": "ddp",
                          "run": {"mode": "train", "steps": 5}})
        exchange = 2 * (0.5 + 2 / 1000)
        self.assertAlmostEqual(row["wall_clock_s"], 5 * (3 + exchange), places=6)
        self.assertAlmostEqual(row["straggler_wait_s"], 5 * (2 + 0) / 2, places=6)
        self.assertAlmostEqual(row["exposed_communication_s"], 5 * exchange, places=6)
        self.assertAlmostEqual(row["compute_s"], 5 * (1 + 3) / 2, places=6)

    def test_accumulation_communicates_once(self):
        workload = {"model": "quadratic", "start": [0.0], "curvature": [1.0], "optimum": [[0.0], [1.0]],
                    "micro_batch_time": "1s", "micro_batches": 4}
        row, _ = predict({"platform": star(2, **self.NETWORK), "workload": workload, "method": "ddp",
                          "run": {"mode": "train", "steps": 2}})
        self.assertAlmostEqual(row["step_s"], 4 + 2 * (0.5 + 2 / 1000), places=6)


class Agreement(unittest.TestCase):
    """Methods whose replicas must stay equal are equal to the bit; NoLoCo's must not be."""

    def test_replicas(self):
        for method in ({"name": "ddp"}, {"name": "demo", "chunk": 8, "top_k": 1},
                       {"name": "diloco", "inner_steps": 1}, {"name": "local-sgd", "inner_steps": 1}):
            _, lines = run(3, method, 50)
            last = [line["parameters"] for line in lines if line["step"] == 50]
            self.assertEqual(last[0], last[1], method["name"])
            self.assertEqual(last[0], last[2], method["name"])
        _, lines = run(3, {"name": "noloco", "inner_steps": 5}, 50)
        last = [line["parameters"] for line in lines if line["step"] == 50]
        self.assertNotEqual(last[0], last[1])


if __name__ == "__main__":
    unittest.main()
