"""The worked examples of the streaming-diloco page, its schedule, what it sends and when, and bad options."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star

PAGE = {"model": "quadratic", "start": [3, 3], "curvature": [[1, .5], [2, 1.5]], "optimum": [[0, -1], [1, 2]]}
METHOD = {"name": "streaming-diloco", "inner_steps": 4, "fragments": [[0], [1]], "overlap_steps": 1, "mixing": 0.5,
          "outer": {"name": "nesterov", "learning_rate": 0.4, "momentum": 0.9}, "outer_wire": "f32",
          "optimizer": {"name": "sgd", "learning_rate": 0.1}}


def run(steps, workload=PAGE, ranks=2, platform=None, **options):
    return predict({"platform": platform or star(ranks), "workload": workload, "method": {**METHOD, **options},
                    "run": {"mode": "train", "steps": steps,
                            "collectives": {"all_reduce": "ring", "all_gather": "ring"}}})


class WorkedExample(unittest.TestCase):
    A = {4: ((1.968300, 2.258025), (1.819200, 2.522006)), 5: ((1.965360, 2.095124), (1.907305, 2.443705)),
         6: ((1.768824, 1.940368), (1.725844, 2.377150)), 7: ((1.591942, 2.077003), (1.580675, 2.340617)),
         8: ((1.432747, 1.923153), (1.464540, 2.289524)), 9: ((1.275118, 1.776995), (1.316198, 2.246096)),
         10: ((1.147607, 1.638145), (1.252959, 2.209181)), 11: ((1.032846, 1.631109), (1.202367, 1.966892))}

    def test_a(self):
        for workload in PAGE, {**PAGE, "layers": [1, 1]}:
            _, lines = run(11, workload)
            for step, expected in self.A.items():
                for rank in range(2):
                    close(self, parameters(lines, rank, step), expected[rank], 6, f"step {step}, rank {rank}")

    def test_fragments_by_layers(self):
        """Two layers of one parameter each, one layer a fragment: the same."""
        method = {key: value for key, value in METHOD.items() if key != "fragments"}
        _, given = run(11)
        for pattern in "strided", "sequential":
            _, lines = predict({"platform": star(2), "workload": {**PAGE, "layers": [1, 1]},
                                "method": {**method, "fragment_layers": 1, "pattern": pattern},
                                "run": {"mode": "train", "steps": 11}})
            self.assertEqual([line["parameters"] for line in lines], [line["parameters"] for line in given])

    def test_b(self):
        """Nothing overlaps, nothing is mixed: both replicas hold G where a fragment was applied."""
        _, lines = run(10, overlap_steps=0, mixing=0)
        for step, fragment, value in (4, 0, 2.159250), (6, 1, 2.360656), (8, 0, 1.258570), (10, 1, 1.785701):
            for rank in range(2):
                close(self, [parameters(lines, rank, step)[fragment]], [value], 6, f"step {step}")

    def test_c(self):
        """Four bits; a block is a single number."""
        _, lines = run(11, outer_wire="fp4")
        close(self, parameters(lines, 0, 11), [1.001145, 1.623239], 6)
        close(self, parameters(lines, 1, 11), [1.174134, 1.953951], 6)
        _, lines = run(10, outer_wire="fp4", mixing=0, overlap_steps=0)
        for rank in range(2):  # G, before any difference to the other run
            close(self, [parameters(lines, rank, 4)[0]], [2.24], 6)
            close(self, [parameters(lines, rank, 6)[1]], [2.43], 6)

    def test_a_block_is_a_parameter_tensor(self):
        """x_1 moves a thousandth of x_0: seen where it has a scale of its own, 0 under x_0's."""
        workload = {"model": "quadratic", "start": [3, 3], "curvature": [1, 0.001], "optimum": [[0, 0], [0, 0]]}
        moved = [3 - 3 * (1 - 0.1 * a) ** 4 for a in (1, 0.001)]  # 1.0317, 0.0012
        for layers, quantised in ([1, 1], (1.0, 2.0 ** -10)), ([2], (1.0, 0)):
            _, lines = run(4, {**workload, "layers": layers}, fragments=[[0, 1]], overlap_steps=0, mixing=0, outer_wire="fp4")
            expected = [3 - 0.4 * (1 + 0.9) * q for q in quantised]
            close(self, parameters(lines, 0, 4), expected, 6, f"{layers}: moved {moved}")

    def test_all_mixing_is_no_communication(self):
        _, lines = run(11, mixing=1)
        _, alone = run(11, inner_steps=100)
        self.assertEqual([line["parameters"] for line in lines], [line["parameters"] for line in alone])

    def test_one_fragment_without_overlap_is_diloco(self):
        _, lines = run(9, fragments=[[0, 1]], overlap_steps=0, mixing=0)
        _, diloco = predict({"platform": star(2), "workload": PAGE, "run": {"mode": "train", "steps": 9},
                             "method": {key: METHOD[key] for key in ("inner_steps", "outer", "optimizer")}
                             | {"name": "diloco"}})
        self.assertEqual([line["parameters"] for line in lines], [line["parameters"] for line in diloco])


class Schedule(unittest.TestCase):
    def sent_at(self, steps, fragments, ranks=2, start=None, **options):
        """(step, bytes of rank 0) of each step that sends."""
        elements = sum(fragments)
        lists, at = [], 0
        for n in fragments:
            lists.append(list(range(at, at + n)))
            at += n
        workload = {"model": "quadratic", "start": [1.0] * elements, "curvature": [1.0] * elements,
                    "optimum": [[float(r)] * elements for r in range(ranks)], "micro_batch_time": "1s"}
        _, lines = run(steps, workload, ranks, fragments=lists, **options)
        total, found = 0, []
        for line in lines:
            if line["rank"] == 0 and line["inter_node_bytes"] > total:
                found.append((line["step"], line["inter_node_bytes"] - total))
                total = line["inter_node_bytes"]
        return found

    def test_steps_and_bytes(self):
        """H = 10, three fragments: interval 3, so t_p = 0, 3, 6; first after H steps."""
        sizes = {10: 4, 13: 6, 16: 8, 20: 4, 23: 6, 26: 8}
        for ranks in 2, 4:
            for wire, per_value in (("f32", 2 * (ranks - 1) / ranks * 4), ("bf16", 2 * (ranks - 1) / ranks * 2),
                                    ("fp4", (ranks - 1) * 0.5)):
                got = self.sent_at(28, [4, 6, 8], ranks, inner_steps=10, outer_wire=wire, overlap_steps=0)
                if wire == "fp4" or ranks == 2:
                    self.assertEqual(got, [(step, n * per_value) for step, n in sizes.items()], (ranks, wire))
                else:  # chunks are uneven
                    self.assertEqual([step for step, _ in got], list(sizes))

    def test_sum_over_ranks_is_exact(self):
        for ranks in 2, 3, 4:
            _, lines = run(22, {"model": "quadratic", "start": [1.0] * 7, "curvature": [1.0] * 7,
                                "optimum": [[float(r)] * 7 for r in range(ranks)]}, ranks, fragments=[[0, 2, 4], [1, 3, 5, 6]],
                           inner_steps=8)
            total = sum(line["inter_node_bytes"] for line in lines if line["step"] == 22)
            self.assertEqual(total, 2 * (ranks - 1) * 4 * (2 * 3 + 2 * 4))  # at 8 and 16, at 12 and 20

    def test_patterns(self):
        """Layers of 1, 2, 3 and 4 parameters, two layers a fragment: 0 and 2, 1 and 3; or 0 and 1, 2 and 3."""
        options = {key: value for key, value in METHOD.items() if key != "fragments"}
        for pattern, sizes in ("strided", (4, 6)), ("sequential", (3, 7)):
            _, lines = predict({"platform": star(2), "method": {**options, "fragment_layers": 2, "pattern": pattern,
                                                                "outer_wire": "fp4", "overlap_steps": 0},
                                "workload": {"model": "quadratic", "start": [1] * 10, "curvature": [1] * 10,
                                             "optimum": [[0] * 10] * 2, "layers": [1, 2, 3, 4], "micro_batch_time": "1s"},
                                "run": {"mode": "train", "steps": 7}})
            sent = [line["inter_node_bytes"] for line in lines if line["rank"] == 0]
            # sent at 4 and 6, a fragment's codes packed in whole bytes
            self.assertEqual((sent[4], sent[6] - sent[4]), tuple((n + 1) // 2 for n in sizes), pattern)

    def test_evaluates_the_outer_parameters(self):
        """Under mixing 1 no replica ever takes anything over: only what is evaluated tells."""
        workload = {"model": {"kind": "gpt", "depth": 1, "width": 8, "heads": 1, "context": 8, "vocabulary": 16},
                    "sequence_tokens": 8, "micro_batch_sequences": 2, "data": {"kind": "synthetic", "states": 8}}
        losses = {}
        for steps in 2, 8:
            for inner_steps in 4, 100:
                row, _ = predict({"platform": star(2), "workload": workload, "run": {"mode": "train", "steps": steps},
                                  "method": {"name": "streaming-diloco", "inner_steps": inner_steps, "mixing": 1,
                                             "optimizer": {"name": "adamw", "learning_rate": 0.05}}}, dump_lines=False)
                losses[steps, inner_steps] = row["validation_loss"], row["final_loss"]
        self.assertEqual(losses[2, 4], losses[2, 100])
        self.assertEqual(losses[8, 4][1], losses[8, 100][1])
        self.assertNotEqual(losses[8, 4][0], losses[8, 100][0])

    def test_first_slot(self):
        got = self.sent_at(14, [4, 6, 8], inner_steps=10, overlap_steps=0, first_sync="first-slot")
        self.assertEqual([step for step, _ in got], [3, 6, 10, 13])

    def test_published_intervals(self):
        """floor(100 / P_f) for 24, 48 and 108 layers in threes (page, trap 3): 11, 5, 2."""
        for layers, interval in (24, 11), (48, 5), (108, 2):
            model = {"kind": "gpt", "depth": layers, "width": 4, "heads": 1, "context": 4, "vocabulary": 8}
            method = {"name": "streaming-diloco", "outer_wire": "fp4", "overlap_steps": 0}
            row = {}
            for steps in 99, 100, 99 + interval, 100 + interval:
                row[steps], _ = predict({"platform": star(2), "method": method, "run": {"mode": "cost", "steps": steps},
                                         "workload": {"model": model, "sequence_tokens": 4, "micro_batch_sequences": 1}},
                                        dump_lines=False)
            sent = {steps: r["inter_node_bytes_per_step"] * steps for steps, r in row.items()}
            self.assertEqual(sent[99], 0)
            self.assertGreater(sent[100], 0)
            self.assertAlmostEqual(sent[99 + interval], sent[100], places=3)
            self.assertGreater(sent[100 + interval], sent[100] * 1.5)


class Overlap(unittest.TestCase):
    WORKLOAD = {**PAGE, "micro_batch_time": "1s"}

    def wall_clock(self, latency, tau):
        """A ring of two has two messages of two latencies each; 11 steps of 1 s and 4 exchanges: two of p0 at 4 and 8,
        two of p1 at 6 and 10."""
        row, _ = run(11, self.WORKLOAD, platform=star(2, bandwidth="1000GB/s", latency=f"{latency / 4}s"), overlap_steps=tau)
        return row

    def test_tau_steps_are_hidden(self):
        self.assertAlmostEqual(self.wall_clock(0.9, 1)["wall_clock_s"], 11, places=6)
        self.assertAlmostEqual(self.wall_clock(0.9, 0)["wall_clock_s"], 11 + 4 * 0.9, places=6)

    def test_the_rest_stalls(self):
        row = self.wall_clock(1.5, 1)
        self.assertAlmostEqual(row["wall_clock_s"], 11 + 4 * 0.5, places=6)
        self.assertAlmostEqual(row["exposed_communication_s"], 4 * 0.5, places=6)
        self.assertAlmostEqual(self.wall_clock(1.5, 2)["wall_clock_s"], 11 + 0.5, places=6)  # the last one, at the end


class Refused(unittest.TestCase):
    def test_errors(self):
        for method, expected in (({"fragments": [[0], [2]]}, "fragments[1][0]"),
                                 ({"fragments": [[0], [0, 1]]}, "fragments[1][0]: found 0 a second time"),
                                 ({"fragments": [[0]]}, "parameter 1 of 0 to 1 is in none"),
                                 ({"fragments": [[], [0, 1]]}, "found no parameters"),
                                 ({"inner_steps": 1, "overlap_steps": 0}, "at least 2, the number of fragments"),
                                 ({"overlap_steps": 4}, "overlap_steps: found 4, allowed: less than 4"),
                                 ({"outer_wire": "fp8"}, '"fp4"'),
                                 ({"mixing": 1.5}, "mixing")):
            error = error_of({"platform": star(2), "workload": PAGE, "method": {**METHOD, **method},
                              "run": {"mode": "train", "steps": 1}})
            self.assertIn(expected, error)


if __name__ == "__main__":
    unittest.main()
