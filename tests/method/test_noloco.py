"""The worked examples of the noloco page, with its pairs given; and what a drawn pairing must keep."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star

WORKLOAD = {"model": "quadratic", "start": [3.0], "curvature": [[1], [2], [0.5], [1.5]],
            "optimum": [[0], [1], [-1], [2]]}
PAIRS = [[[0, 2], [1, 3]], [[0, 1], [2, 3]], [[0, 3], [1, 2]]]
METHOD = {"name": "noloco", "inner_steps": 2, "outer_learning_rate": 0.7, "outer_momentum": 0.5,
          "consensus_gain": 0.7, "pairs": PAIRS}
SGD = {"name": "sgd", "learning_rate": 0.1}
ADAM = {"name": "adamw", "learning_rate": 0.1, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0}


def run(method, nodes=4, workload=WORKLOAD, steps=6, **settings):
    return predict({"platform": star(nodes), "workload": workload, "method": {**METHOD, **method},
                    "run": {"mode": "train", "steps": steps, **settings}})


class NoLoCo(unittest.TestCase):
    PHI_SGD = [[2.664000, 2.650875, 2.664000, 2.650875], [2.106240, 2.095740, 2.303156, 2.292656],
               [1.724116, 1.639985, 1.799355, 1.879812]]
    PHI_ADAM = [[2.860062, 2.860203, 2.860062, 2.860203], [2.650666, 2.650779, 2.651095, 2.651208],
                [2.409665, 2.407687, 2.408010, 2.410028]]

    def expect(self, lines, rounds):
        for index, phi in enumerate(rounds, start=1):
            got = [parameters(lines, rank, 2 * index)[0] for rank in range(4)]
            close(self, got, phi, 6, f"round {index}")

    def test_inner_sgd(self):
        self.expect(run({"optimizer": SGD})[1], self.PHI_SGD)

    def test_inner_adam(self):
        self.expect(run({"optimizer": ADAM})[1], self.PHI_ADAM)

    def test_prefetch_changes_only_time(self):
        row, lines = run({"optimizer": SGD})
        ahead_row, ahead = run({"optimizer": SGD, "prefetch": True})
        for step in range(1, 7):
            for rank in range(4):
                self.assertEqual(parameters(lines, rank, step), parameters(ahead, rank, step))
        self.assertEqual(row["inter_node_bytes_per_step"], ahead_row["inter_node_bytes_per_step"])

    def test_prefetch_halves_the_blocking_part(self):
        """With steps longer than the transfer of phi, a round blocks for P b instead of 2 P b."""
        workload = {"model": "quadratic", "start": [0.0], "curvature": [1.0], "optimum": [[0.0]] * 4,
                    "micro_batch_time": "1s"}
        slow = star(4, bandwidth="8bps", latency="0s")  # one byte a second
        times = {}
        for prefetch in (False, True):
            row, _ = predict({"platform": slow, "workload": workload, "run": {"mode": "train", "steps": 20},
                              "method": {"name": "noloco", "inner_steps": 10, "optimizer": SGD, "prefetch": prefetch}})
            times[prefetch] = row["exposed_communication_s"]
        self.assertAlmostEqual(times[False], 2 * 8.0, places=6)  # 2 rounds of 8 bytes
        self.assertAlmostEqual(times[True], 2 * 4.0, places=6)   # phi went ahead

    def test_a_rank_in_no_pair_sits_out(self):
        _, lines = run({"optimizer": SGD, "pairs": [[[0, 2]]]}, steps=4)
        # rank 1 never meets anybody: plain SGD on its own problem, 3 -> 1 + 2 * 0.8^s
        for step in range(1, 5):
            close(self, parameters(lines, 1, step), [1 + 2 * 0.8 ** step], 6, f"step {step}")

    def test_group_of_all_keeps_replicas_equal(self):
        _, lines = run({"optimizer": SGD, "group_size": 4, "pairs": [[[0, 1, 2, 3]]]})
        for index in (1, 2, 3):
            values = {parameters(lines, rank, 2 * index)[0] for rank in range(4)}
            self.assertEqual(len(values), 1, f"round {index}")

    def test_drawn_pairs_are_pairs(self):
        """After a round every drawn pair holds the same value, and nobody is left out."""
        method = {key: value for key, value in METHOD.items() if key != "pairs"}
        seen = set()
        for seed in range(1, 5):
            _, lines = predict({"platform": star(4), "workload": WORKLOAD, "method": {**method, "optimizer": SGD},
                                "run": {"mode": "train", "steps": 2, "seed": seed}})
            phi = [parameters(lines, rank, 2)[0] for rank in range(4)]
            partners = tuple(min(r for r in range(4) if r != q and phi[r] == phi[q]) for q in range(4))
            for rank, partner in enumerate(partners):
                self.assertEqual(partners[partner], rank)
            seen.add(partners)
        self.assertGreater(len(seen), 1, "four seeds, one pairing")

    def test_bad_pairs(self):
        scenario = {"platform": star(4), "workload": WORKLOAD, "run": {"mode": "train", "steps": 2}}
        for pairs, found in ([[[0, 1], [1, 2]]], "rank 1 twice"), ([[[0, 4]]], "pairs[0][0][1]"), ([[[0, 1, 2]]], "a group of 3"):
            self.assertIn(found, error_of({**scenario, "method": {**METHOD, "pairs": pairs}}))


if __name__ == "__main__":
    unittest.main()
