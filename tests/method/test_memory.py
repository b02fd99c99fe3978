"""Memory of each method on phantom tensors, as the allocator counts it, against the pages' bytes per parameter: state that
stays (by owner, exactly), and what comes and goes."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import predict, star

MODEL = {"kind": "gpt", "depth": 3, "width": 64, "heads": 4, "context": 16, "vocabulary": 256}
WORKLOAD = {"model": MODEL, "sequence_tokens": 16, "micro_batch_sequences": 1}
NODES, ACCELERATORS = 4, 2
RANKS = NODES * ACCELERATORS
ADAMW = {"name": "adamw"}


def parameters():
    """GPT-2's count: two tables, per block 12 d^2 + 13 d, a final norm; the head is the table."""
    d = MODEL["width"]
    return (MODEL["vocabulary"] + MODEL["context"]) * d + MODEL["depth"] * (12 * d * d + 13 * d) + 2 * d


def largest_share(ranks):
    """Elements of the rank that has most: whole tensors, the largest first, to whoever has least (zero1-adamw)."""
    d = MODEL["width"]
    block = [d] * 4 + [3 * d * d, 3 * d, d * d, d, 4 * d * d, 4 * d, 4 * d * d, d]
    tensors = [MODEL["vocabulary"] * d, MODEL["context"] * d, *block * MODEL["depth"], d, d]
    assert sum(tensors) == parameters()
    totals = [0] * ranks
    for elements in sorted(tensors, reverse=True):
        totals[totals.index(min(totals))] += elements
    return max(totals)


P = parameters()
PASSING = {"batch", "activations"}


def memory(method, steps=2):
    row, _ = predict({"platform": star(NODES, ACCELERATORS), "workload": WORKLOAD, "method": method,
                      "run": {"mode": "cost", "steps": steps}}, dump_lines=False)
    held = row["peak_memory_by_owner_bytes"]
    assert sum(held.values()) == row["peak_memory_bytes"]
    return {owner: held[owner] for owner in held if owner not in PASSING}


class BytesPerParameter(unittest.TestCase):
    def check(self, method, **expected):
        """Every owner's bytes; words of a name are joined by _ here."""
        self.assertEqual(memory(method), {owner.replace("_", " "): value for owner, value in expected.items()})

    def test_the_model_has_so_many(self):
        row = memory({"name": "ddp"})
        self.assertEqual(row["parameters"], 4 * P)
        self.assertEqual(P % RANKS, 0, "so that shards have no padding here")

    def test_ddp_and_its_like(self):
        self.check({"name": "ddp"}, parameters=4 * P, gradients=4 * P, optimizer_state=8 * P)  # 16
        self.check({"name": "local-sgd", "optimizer": ADAMW}, parameters=4 * P, gradients=4 * P, optimizer_state=8 * P)

    def test_zero1(self):
        n = RANKS
        self.check({"name": "zero1"}, parameters=2 * P, gradients=2 * P, master_slice=4 * P / n,
                   optimizer_state=8 * P / n)  # 4 + 12/n
        self.check({"name": "zero1", "variant": "reference"}, parameters=4 * P, gradients=4 * P, gradient_buckets=4 * P,
                   optimizer_state=8 * largest_share(n))  # 12 + 8/n, were the tensors given out evenly

    def test_acco(self):
        n = RANKS
        held = memory({"name": "acco"})
        self.assertEqual(held.pop("count"), 4)
        self.assertEqual(held, {"parameters": 2 * P, "gradients": 2 * P, "communication buffer": 2 * P,
                                "master slice": 4 * P / n, "gradient slice": 4 * P / n,
                                "optimizer state": 8 * P / n, "snapshot": 12 * P / n})  # 6 + 16/n, 12/n in an estimate

    def test_sharded(self):
        """16 / n and what is gathered and reduced meanwhile."""
        for method, n in (({"name": "fsdp"}, RANKS), ({"name": "hsdp"}, ACCELERATORS)):
            held = memory(method)
            self.assertEqual([held[owner] for owner in ("parameters", "gradients", "optimizer state")],
                             [4 * P / n, 4 * P / n, 8 * P / n], method)
            self.assertLessEqual(set(held) - {"parameters", "gradients", "optimizer state"},
                                 {"gathered parameters", "whole gradients", "incoming shard"})

    def test_flexdemo(self):
        """12 / S by SGD: parameters, gradients, one momentum."""
        held = memory({"name": "flexdemo"})
        s = ACCELERATORS
        self.assertEqual(held["parameters"] + held["gradients"], 8 * P / s)
        self.assertEqual(sum(value for owner, value in held.items() if owner in ("residual", "momentum")), 4 * P / s)

    def test_demo(self):
        held = memory({"name": "demo"})
        self.assertEqual(held["parameters"] + held["gradients"], 8 * P)
        self.assertEqual(sum(value for owner, value in held.items() if owner in ("residual", "momentum")), 4 * P)

    def test_diloco(self):
        self.check({"name": "diloco", "inner_steps": 2}, parameters=4 * P, gradients=4 * P, optimizer_state=8 * P,
                   outer_parameters=4 * P, outer_momentum=4 * P)  # 24

    def test_streaming_diloco(self):
        """24, and for a fragment in flight 4 + 0.5 (1 + M) per parameter of it."""
        held = memory({"name": "streaming-diloco", "inner_steps": 4, "fragment_layers": 1}, steps=3)
        self.assertEqual(held, {"parameters": 4 * P, "gradients": 4 * P, "optimizer state": 8 * P,
                                "outer parameters": 4 * P, "outer momentum": 4 * P})
        with_flight = memory({"name": "streaming-diloco", "inner_steps": 4, "fragment_layers": 3, "overlap_steps": 2}, steps=6)
        blocks = 3 * (12 * 64 * 64 + 13 * 64)
        self.assertEqual(with_flight["fragment in flight"], blocks * (4 + 0.5 * (1 + RANKS)))

    def test_noloco(self):
        """24; and in a round the change and what is received, 4 and 8."""
        self.check({"name": "noloco", "inner_steps": 2}, parameters=4 * P, gradients=4 * P, optimizer_state=8 * P,
                   slow_weights_and_their_change=8 * P, outer_momentum=4 * P, received_from_the_group=8 * P)


if __name__ == "__main__":
    unittest.main()
