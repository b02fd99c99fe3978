"""How far replicas are apart when a run ends, against the same figure from the dumped parameters."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import parameters, predict, star

SGD = {"name": "sgd", "learning_rate": 0.1}


def spread(rows):
    """Root of the mean over parameters of the population variance over replicas."""
    total = 0.0
    for values in zip(*rows):
        mean = sum(values) / len(values)
        total += sum((x - mean) ** 2 for x in values) / len(values)
    return (total / len(rows[0])) ** 0.5


class ReplicaSpread(unittest.TestCase):
    def run_it(self, ranks, method, steps):
        workload = {"model": "quadratic", "start": [3.0, -1.0, 2.0], "curvature": [1.0, 0.5, 2.0],
                    "optimum": [[rank, 1.0 - rank, rank * rank] for rank in range(ranks)]}
        return predict({"platform": star(ranks), "workload": workload, "method": {"optimizer": SGD, **method},
                        "run": {"mode": "train", "steps": steps}})

    def test_equal_replicas(self):
        for method, steps in ({"name": "ddp"}, 5), ({"name": "local-sgd", "inner_steps": 3}, 6), ({"name": "demo", "chunk": 4}, 5):
            self.assertEqual(self.run_it(4, method, steps)[0]["replica_spread"], 0, method)

    def test_different_replicas(self):
        for method, steps in ({"name": "local-sgd", "inner_steps": 3}, 5), ({"name": "diloco", "inner_steps": 2}, 3), ({"name": "noloco", "inner_steps": 2}, 6):
            row, lines = self.run_it(5, method, steps)
            expected = spread([parameters(lines, rank, steps) for rank in range(5)])
            self.assertGreater(expected, 1e-3)
            self.assertAlmostEqual(row["replica_spread"] / expected, 1, places=6, msg=str(method))

    def test_nothing_is_known_without_numbers(self):
        row, _ = predict({"platform": star(2), "workload": {"model": "gpt2-124m"}, "method": {"name": "noloco"},
                          "run": {"steps": 2}}, dump_lines=False)
        self.assertIsNone(row["replica_spread"])


if __name__ == "__main__":
    unittest.main()
