"""Real training: an accuracy that a classifier must reach, on data of which no test knows the answer."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import predict


class FashionMnist(unittest.TestCase):
    def test_ddp_on_four_nodes(self):
        """A multilayer perceptron passes 85 % on the validation images."""
        row, _ = predict({"platform": {"file": "thin.json", "nodes": 4},
                          "workload": {"model": {"kind": "mlp", "hidden": [128]}, "micro_batch_sequences": 32,
                                       "validation_batches": 10000},
                          "method": {"name": "ddp", "optimizer": {"name": "adamw", "learning_rate": 0.001},
                                     "schedule": {"name": "cosine", "warmup_steps": 20}},
                          "run": {"mode": "train", "steps": 800}}, dump_lines=False)
        print("validation accuracy", row["validation_accuracy"])
        self.assertGreater(row["validation_accuracy"], 0.85)


if __name__ == "__main__":
    unittest.main()
