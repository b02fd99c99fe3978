"""The worked examples of the flexdemo page (DeMo with and without sign, Random, Full, "DiLoCo" as coded, Striding's
rows), example b of the fsdp page, and the replicators in ddp and hsdp against plain double-precision versions."""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star
import test_sharded as sharded

PAGE, whole = sharded.PAGE, sharded.whole
P = 1.0
SGD = {"name": "sgd", "learning_rate": 0.1}
DEMO = {"name": "demo", "chunk": 4, "top_k": 1}


def run(steps=2, platform=None, workload=PAGE, **method):
    return predict({"platform": platform or star(2, 2), "workload": workload,
                    "method": {"name": "flexdemo", "optimizer": SGD, **method},
                    "run": {"mode": "train", "steps": steps}})


def node(lines, r, step):
    return whole(lines, (2 * r, 2 * r + 1), step)


class PageExamples(unittest.TestCase):
    Q1 = [-.038827, -.035055, .035055, .038827, .007244, .073202, -.020077, .045881,
          -.101595, -.075033, -.037467, -.010905, -.059296, .031125, -.096750]
    Q2 = [-.028910, .067535, .044909, -.083534, .079878, .053215, .015507, -.011156,
          -.076605, .105431, .007012, -.035839, -.067896, .009245, -.099849]

    def expect(self, lines, step, expected, digits=6):
        for r in range(2):
            close(self, node(lines, r, step), expected, digits, f"node {r}, step {step}")

    def test_demo(self):
        row, lines = run(replicator=DEMO)
        self.expect(lines, 1, [1.1, 1.1, .9, .9, .9, .9, 1.1, .9, 1.1, 1.1, 1.1, 1.1, 1.1, .9, 1.1])
        self.expect(lines, 2, [1.2, 1.0, .8, 1.0, .8, .8, 1.0, 1.0, 1.2, 1.0, 1.0, 1.2, 1.2, .8, 1.2])
        self.assertEqual([line["inter_node_bytes"] for line in lines], [16] * 4 + [32] * 4)

    def test_demo_without_sign(self):
        """The merged updates themselves: p = 1 - lr Q."""
        _, lines = run(replicator=DEMO, sign="none")
        self.assertAlmostEqual(node(lines, 0, 1)[0], 1.003883, delta=6e-7)
        self.expect(lines, 1, [P - .1 * q for q in self.Q1])
        self.expect(lines, 2, [P - .1 * (a + b) for a, b in zip(self.Q1, self.Q2)])

    def test_random(self):
        given = {"name": "random", "rate": .25, "rows": [[1, 6], [0, 3]]}
        _, lines = run(replicator=given)
        self.expect(lines, 1, [1, 1, 1, 1, 1, 1, .9, 1, 1, 1.1, 1, 1, 1, 1, 1.1])
        self.expect(lines, 2, [1.1, 1, 1, 1.1, 1, 1, .9, 1, 1.1, 1.1, 1, 1.1, 1, 1, 1.1])
        _, lines = run(replicator=given, sign="none")
        q1 = {1: 0, 6: .003125, 8 + 1: -.021875, 8 + 6: -.037500}
        q2 = {0: -.049969, 3: -.034375, 8: -.062419, 8 + 3: -.037481}
        self.expect(lines, 1, [P - .1 * q1.get(i, 0) for i in range(15)])
        self.expect(lines, 2, [P - .1 * (q1.get(i, 0) + q2.get(i, 0)) for i in range(15)])

    def test_rows_are_drawn_as_the_page_says(self):
        """Seed 42, 8 rows, 2 of them: {0, 4}, {4, 5}, {1, 6} at steps 1 to 3."""
        gradients = {"model": "gradients", "start": [1.0] * 8, "gradients": [[[1.0] * 8]] * 2}
        _, lines = run(3, star(2), gradients, replicator={"name": "random", "rate": .25})
        before = [1.0] * 8
        for step, rows in enumerate(({0, 4}, {4, 5}, {1, 6}), 1):
            after = parameters(lines, 0, step)
            self.assertEqual({i for i in range(8) if after[i] != before[i]}, rows)
            before = after

    def test_full(self):
        _, lines = run(replicator="full")
        self.expect(lines, 1, [1.1, 1, .9, 1, .9, .9, .9, .9, 1.1, 1.1, 1.1, 1.1, 1.1, .9, 1.1])
        self.expect(lines, 2, [1.2, 1.1, .8, 1.1, .8, .8, 1, 1, 1, 1, 1.2, 1.2, 1.2, 1, 1.2])
        _, lines = run(1, replicator="full", sign="none")
        q = [-.3125, 0, .28125, 0, .21875, .40625, .03125, .15625, -.8125, -.21875, -.1875, -.1875, -.75, .25, -.375]
        self.expect(lines, 1, [P - .1 * x for x in q])

    def test_diloco_as_coded(self):
        for how in {"replicate_every": 2}, {"skip_every": 0, "replicate_every": 2}:
            _, lines = run(replicator="full", **how)
            close(self, node(lines, 0, 2), [1.2, 1, .8, 1, .8, .8, 1, 1.1, 1, 1, 1.2, 1.2, 1.2, 1.2, 1.2], 6)
            close(self, node(lines, 1, 2), [1, 1.2, .8, 1.2, 1, .8, 1.2, 1, 1, 1, 1.2, 1, 1.2, 1, 1.2], 6)

    def test_skip_every(self):
        """Replicate except on every second step: step 1 is the mean's sign, step 2 local."""
        row, lines = run(replicator="full", skip_every=2)
        self.expect(lines, 1, [1.1, 1, .9, 1, .9, .9, .9, .9, 1.1, 1.1, 1.1, 1.1, 1.1, .9, 1.1])
        self.assertNotEqual(node(lines, 0, 2), node(lines, 1, 2))
        sent = [line["inter_node_bytes"] for line in lines]
        self.assertEqual(sent[4:], sent[:4])

    def test_example_b_of_fsdp(self):
        """NoLoCo's baseline: each rank clips its own gradient to 1, then the average."""
        method = {"name": "ddp", "clip_norm": 1.0, "clip_order": "before-average",
                  "optimizer": {"name": "adamw", "learning_rate": .1, "beta1": .9, "beta2": .999, "weight_decay": 0}}
        _, lines = predict({"platform": star(2), "workload": sharded.Fsdp.QUADRATIC, "method": method,
                            "run": {"mode": "train", "steps": 3}})
        for step, expected in enumerate([[0.900000, -0.900000, 1.900000, 0.400000],
                                         [0.800264, -0.800106, 1.799968, 0.299986],
                                         [0.701088, -0.700429, 1.699889, 0.199940]], 1):
            for rank in range(2):
                close(self, parameters(lines, rank, step), expected, 6)


class Striding(unittest.TestCase):
    def moved(self, steps, replicator, n=64):
        gradients = {"model": "gradients", "start": [1.0] * n, "gradients": [[[1.0] * n]] * 2}
        _, lines = run(steps, star(2), gradients, replicator={"name": "striding", **replicator})
        before, result = [1.0] * n, []
        for step in range(1, steps + 1):
            after = parameters(lines, 0, step)
            result.append({i for i in range(n) if after[i] != before[i]})
            before = after
        return result

    def test_rows_by_the_code(self):
        self.assertEqual(self.moved(3, {"rate": .1}), [{0, 11, 22, 33, 44, 55}, {2, 13, 24, 35, 46, 57},
                                                       {4, 15, 26, 37, 48, 59}])
        self.assertEqual(self.moved(3, {"rate": .0625}), [{0, 16, 32, 48}] * 3)

    def test_fixed_rows(self):
        self.assertEqual(self.moved(3, {"rate": .0625, "rows": "fixed"}),
                         [{1, 17, 33, 49}, {2, 18, 34, 50}, {3, 19, 35, 51}])

    def test_rows_of_several_elements(self):
        """128 elements in 64 rows of two."""
        self.assertEqual(self.moved(1, {"rate": .0625}, 128), [{0, 1, 32, 33, 64, 65, 96, 97}])

    def test_each_unit_counts_its_own_calls(self):
        """A replicator's counter goes up once a call, and each unit has one: units of equal length share rows."""
        gradients = {"model": "gradients", "start": [1.0] * 128, "layers": [64, 64],
                     "gradients": [[[1.0] * 128]] * 2}
        _, lines = run(2, star(2), gradients, replicator={"name": "striding", "rate": .1})
        after = parameters(lines, 0, 1)
        self.assertEqual({i for i in range(128) if after[i] != 1}, {j * 11 + k for j in range(6) for k in (0, 64)})


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows)]


class AgainstPlainVersions(unittest.TestCase):
    """R replicas of one rank, n elements: the exchanges in double precision."""
    N = 12

    def gradients(self, ranks, steps):
        return [[[math.sin(3 * rank + 7 * i + 5 * step) for i in range(self.N)] for step in range(steps)]
                for rank in range(ranks)]

    def go(self, method, ranks, steps):
        g = self.gradients(ranks, steps)
        workload = {"model": "gradients", "start": [1.0] * self.N, "gradients": g}
        exact = {"parameter_wire": "f32", "gradient_wire": "f32", "full_wire": "f32"}
        extra = exact if method["name"] == "flexdemo" else {}
        _, lines = predict({"platform": star(ranks), "workload": workload, "method": {**extra, **method},
                            "run": {"mode": "train", "steps": steps}})
        return g, lines

    def dct(self, x):
        n = len(x)
        return [(math.sqrt(1 / n) if q == 0 else math.sqrt(2 / n)) *
                sum(v * math.cos(math.pi * (2 * i + 1) * q / (2 * n)) for i, v in enumerate(x)) for q in range(n)]

    def inverse(self, c):
        n = len(c)
        return [sum((math.sqrt(1 / n) if q == 0 else math.sqrt(2 / n)) * v *
                    math.cos(math.pi * (2 * i + 1) * q / (2 * n)) for q, v in enumerate(c)) for i in range(n)]

    def largest(self, x, chunk, k):
        """Kept coefficients of each chunk, the rest 0."""
        kept = []
        for start in range(0, len(x), chunk):
            c = self.dct(x[start:start + chunk])
            best = sorted(range(chunk), key=lambda q: (-abs(c[q]), q))[:k]
            kept.append({q: c[q] for q in best})
        return kept

    def decode(self, kept, chunk):
        return [v for part in kept for v in self.inverse([part.get(q, 0) for q in range(chunk)])]

    def demo_updates(self, g, steps, decay, rate, chunk=4, k=2, signs=False):
        """Merged updates by step; the residuals are each replica's own."""
        ranks = len(g)
        m = [[0.0] * self.N for _ in range(ranks)]
        updates = []
        for t in range(steps):
            messages = []
            for r in range(ranks):
                m[r] = [decay * a + rate * b for a, b in zip(m[r], g[r][t])]
                kept = self.largest(m[r], chunk, k)
                m[r] = [a - b for a, b in zip(m[r], self.decode(kept, chunk))]
                messages.append([{q: math.copysign(1, v) for q, v in part.items()} if signs else part for part in kept])
            merged = []
            for b in range(self.N // chunk):
                sent = {}
                for message in messages:
                    for q, v in message[b].items():
                        sent.setdefault(q, []).append(v)
                merged.append({q: sum(v) / len(v) for q, v in sent.items()})
            updates.append(self.decode(merged, chunk))
        return updates

    def check_parameters(self, lines, updates, ranks, rate, shift=0):
        p = [1.0] * self.N
        for t in range(len(updates)):
            q = updates[t - shift] if t >= shift else [0.0] * self.N
            p = [a - rate * b for a, b in zip(p, q)]
            for r in range(ranks):
                got = parameters(lines, r, t + 1)
                worst = max(abs(a - b) for a, b in zip(got, p))
                self.assertLess(worst, 3e-6, f"rank {r}, step {t + 1}")

    def test_demo_in_flexdemo(self):
        demo = {"name": "demo", "chunk": 4, "top_k": 2}
        base = {"name": "flexdemo", "optimizer": {"name": "sgd", "learning_rate": .5}, "decay": .9, "replicator": demo}
        for ranks in 2, 3:
            g, lines = self.go({**base, "sign": "none"}, ranks, 4)
            updates = self.demo_updates(g, 4, .9, .5)
            self.check_parameters(lines, updates, ranks, .5)
            _, lines = self.go({**base, "sign": "none", "overlap": "stale1"}, ranks, 4)
            self.check_parameters(lines, updates, ranks, .5, shift=1)
            _, lines = self.go({**base, "sign": "before"}, ranks, 4)
            self.check_parameters(lines, self.demo_updates(g, 4, .9, .5, signs=True), ranks, .5)

    def test_demo_in_ddp_and_hsdp(self):
        """The residual holds plain gradients there; the update takes the gradient's place."""
        shared = {"optimizer": {"name": "sgd", "learning_rate": .5}, "decay": .9,
                  "replicator": {"name": "demo", "chunk": 4, "top_k": 2}}
        for method in {"name": "ddp"}, {"name": "hsdp", "parameter_wire": "f32", "gradient_wire": "f32"}:
            g, lines = self.go({**method, **shared}, 3, 4)
            self.check_parameters(lines, self.demo_updates(g, 4, .9, 1.0), 3, .5)

    def test_rate_one_is_the_mean(self):
        """All rows each step: nothing stays in the residual, so the run is the fully averaged one."""
        for name in "random", "striding":
            for method in {"name": "ddp"}, {"name": "hsdp", "parameter_wire": "f32", "gradient_wire": "f32"}:
                g, lines = self.go({**method, "optimizer": {"name": "sgd", "learning_rate": .5},
                                    "replicator": {"name": name, "rate": 1}}, 3, 3)
                self.check_parameters(lines, [mean([g[r][t] for r in range(3)]) for t in range(3)], 3, .5)

    def test_one_replica_hands_over_its_residual(self):
        g, lines = self.go({"name": "flexdemo", "sign": "none", "optimizer": {"name": "sgd", "learning_rate": .5},
                            "replicator": {"name": "demo"}}, 1, 3)
        self.check_parameters(lines, [[.5 * x for x in g[0][t]] for t in range(3)], 1, .5)

    def test_decoupled_adamw_and_weight_decay(self):
        """AdamW sees signs; SGD's decay multiplies before the update."""
        g, lines = self.go({"name": "flexdemo", "replicator": "full",
                            "optimizer": {"name": "sgd", "learning_rate": .5, "weight_decay": .1}}, 2, 2)
        p = [1.0] * self.N
        for t in range(2):
            average = mean([g[r][t] for r in range(2)])
            p = [a * (1 - .05) - .5 * math.copysign(1, b) for a, b in zip(p, average)]
        close(self, parameters(lines, 0, 2), p, 6)
        _, lines = self.go({"name": "flexdemo", "replicator": "full",
                            "optimizer": {"name": "adamw", "learning_rate": .01}}, 2, 2)
        p, m, v = [1.0] * self.N, [0.0] * self.N, [0.0] * self.N
        for t in range(2):
            q = [math.copysign(1, b) for b in mean([g[r][t] for r in range(2)])]
            m = [.9 * a + .1 * b for a, b in zip(m, q)]
            v = [.999 * a + .001 * b * b for a, b in zip(v, q)]
            p = [a - .01 * (b / (1 - .9 ** (t + 1))) / (math.sqrt(c / (1 - .999 ** (t + 1))) + 1e-8)
                 for a, b, c in zip(p, m, v)]
        close(self, parameters(lines, 0, 2), p, 6)


class Refused(unittest.TestCase):
    def test_errors(self):
        for method, expected in (
                ({"replicator": {"name": "random", "rate": 0}}, "rate"),
                ({"replicator": {"name": "random", "rate": 1.5}}, "rate"),
                ({"replicator": {"name": "random", "rows": []}}, "found an empty array"),
                ({"replicator": {"name": "random", "rows": [[3, 1]]}}, "allowed: ascending rows"),
                ({"replicator": {"name": "random", "rows": [[99]]}}, "rows[0][0]: found 99"),
                ({"replicator": "ful"}, 'did you mean "full"'),
                ({"index_bytes": 3}, "index_bytes: found 3, allowed: 2, 4, 8"),
                ({"replicator": "random", "value_wire": "1bit"}, 'value_wire: found "1bit"'),
                ({"replicator": "full", "overlap": "stale1"}, 'overlap: found "stale1"'),
                ({"shard_ranks": 3}, "shard_ranks: found 3, allowed: a divisor of 2")):
            error = error_of({"platform": star(2, 2), "workload": PAGE, "method": {"name": "flexdemo", **method},
                              "run": {"mode": "train", "steps": 1}})
            self.assertIn(expected, error)
            self.assertEqual(error.count("\n"), 1, error)


if __name__ == "__main__":
    unittest.main()
