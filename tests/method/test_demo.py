"""The worked examples of the demo page: A (two workers, two steps), B (merge), C (2-D), D (1-bit wire)."""
import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from longhaul import close, error_of, parameters, predict, star


def run(nodes, workload, method, steps):
    return predict({"platform": star(nodes), "workload": workload, "method": {"name": "demo", **method},
                    "run": {"mode": "train", "steps": steps}})


def inverse_dct(coefficients):
    """Orthonormal DCT-III by its definition: the samples whose DCT-II is given."""
    c = len(coefficients)
    weight = [math.sqrt(1 / c)] + [math.sqrt(2 / c)] * (c - 1)
    return [sum(weight[q] * coefficients[q] * math.cos(math.pi * (2 * n + 1) * q / (2 * c)) for q in range(c))
            for n in range(c)]


class ExampleA(unittest.TestCase):
    WORKLOAD = {"model": "gradients", "start": [1, -1, .5, 2, 0, .25, -.5, 1],
                "gradients": [[[1, 2, 3, 4, 4, -4, 4, -4], [0, 1, 0, -1, 2, 2, -2, -2]],
                              [[3, 1, -1, -3, 1, 1, 1, 2], [2, 2, 1, -1, 0, 3, -1, 2]]]}
    METHOD = {"chunk": 4, "top_k": 1, "decay": 0.999, "optimizer": {"name": "sgd", "learning_rate": 0.1}}

    def test_parameters(self):
        for overlap in ("none", "pipelined"):
            _, lines = run(2, self.WORKLOAD, {**self.METHOD, "overlap": overlap}, 2)
            for rank in range(2):
                close(self, parameters(lines, rank, 1), [.9, -1.1, .4, 2.1, -.1, .35, -.6, 1.1], 6)
                close(self, parameters(lines, rank, 2), [.8, -1.2, .5, 2.2, -.2, .25, -.5, 1.2], 6)

    def test_merged_update(self):
        """The same data with the update itself applied: u is seen as the change over the rate."""
        _, lines = run(2, self.WORKLOAD, {**self.METHOD, "apply": "identity"}, 2)
        u1 = [.541421, .370711, .129289, -.041421, .325000, -.357843, .607843, -.075000]
        u2 = [.030251, .012530, -.012530, -.030251, .348551, .406486, -.406486, -.348551]
        start = self.WORKLOAD["start"]
        after1, after2 = parameters(lines, 0, 1), parameters(lines, 0, 2)
        close(self, [(a - b) / 0.1 for a, b in zip(start, after1)], u1, 5)
        close(self, [(a - b) / 0.1 for a, b in zip(after1, after2)], u2, 5)

    def test_wire_bytes(self):
        for wire, sent in ("i64-f32", 24), ("i32-f32", 16), ("narrow-f32", 10), ("narrow-1bit", 3):
            row, lines = run(2, self.WORKLOAD, {**self.METHOD, "wire_format": wire}, 2)
            self.assertEqual(row["inter_node_bytes_per_step"], sent, wire)
            self.assertEqual([line["inter_node_bytes"] for line in lines], [sent, sent, 2 * sent, 2 * sent], wire)


class ExampleB(unittest.TestCase):
    def test_merge_rule(self):
        """Three workers whose momenta are single coefficients: (0, 1.2), (0, 0.8), (1, -0.9)."""
        messages = [[1.2, 0, 0, 0], [0.8, 0, 0, 0], [0, -0.9, 0, 0]]
        workload = {"model": "gradients", "start": [0] * 4, "gradients": [[inverse_dct(m)] for m in messages]}
        method = {"chunk": 4, "top_k": 1, "apply": "identity", "optimizer": {"name": "sgd", "learning_rate": 1.0}}
        for merge, u in (("contributors", [-.087953, .256462, .743538, 1.087953]),
                         ("sum-over-n", [.137349, .252154, .414513, .529318])):
            _, lines = run(3, workload, {**method, "merge": merge}, 1)
            close(self, [-x for x in parameters(lines, 0, 1)], u, 6, merge)
            signs = run(3, workload, {**method, "merge": merge, "apply": "sign"}, 1)[1]
            self.assertEqual(parameters(signs, 2, 1), [-math.copysign(1, x) for x in u], merge)


class ExampleC(unittest.TestCase):
    ROWS = [[1, 2, 3, 4, 5, 7], [-1, .5, 1, .5, 2, -2], [2, 2, 2, -3, 0, 3.5], [0, 1, 0, 1, .25, 1.5]]
    DECODED = [[1.083333] * 3 + [2.75] * 3] * 2 + [[1.166667] * 3 + [-1.75, 0, 1.75]] * 2
    RESIDUAL = [[-.083333, .916667, 1.916667, 1.25, 2.25, 4.25], [-2.083333, -.583333, -.083333, -2.25, -.75, -4.75],
                [.833333, .833333, .833333, -1.25, 0, 1.75], [-1.166667, -.166667, -1.166667, 2.75, .25, -.25]]

    def test_two_dimensions(self):
        flat = [x for row in self.ROWS for x in row]
        workload = {"model": "gradients", "start": [0] * 24, "shape": [4, 6], "gradients": [[flat, [0] * 24]]}
        method = {"chunk": 3, "top_k": 1, "decay": 0.5, "apply": "identity",
                  "optimizer": {"name": "sgd", "learning_rate": 1.0}}
        _, lines = run(1, workload, method, 1)
        close(self, [-x for x in parameters(lines, 0, 1)], [x for row in self.DECODED for x in row], 6)
        # all coefficients of the halved residual in the second step: the residual itself comes out
        _, lines = run(1, workload, {**method, "top_k": 1}, 2)
        residual = [x for row in self.RESIDUAL for x in row]
        second = [a - b for a, b in zip(parameters(lines, 0, 1), parameters(lines, 0, 2))]
        # the second step sends the largest coefficient of 0.5 * residual per block: check by definition
        expected = self.largest_of(residual)
        close(self, second, expected, 5)

    @staticmethod
    def largest_of(residual):
        """Naive 2-D DCT of 0.5 * residual in 2x3 blocks, keep the largest, decode; in double."""
        h, w, width = 2, 3, 6
        out = [0.0] * 24
        basis = lambda c, n, q: math.sqrt((1 if q == 0 else 2) / c) * math.cos(math.pi * (2 * n + 1) * q / (2 * c))
        for y in range(2):
            for x in range(2):
                at = lambda j, l: (y * h + j) * width + x * w + l
                coefficients = {(b, d): sum(0.5 * residual[at(j, l)] * basis(h, j, b) * basis(w, l, d)
                                            for j in range(h) for l in range(w)) for b in range(h) for d in range(w)}
                (b, d), value = max(coefficients.items(), key=lambda item: abs(item[1]))
                for j in range(h):
                    for l in range(w):
                        out[at(j, l)] = value * basis(h, j, b) * basis(w, l, d)
        return out


class ExampleD(unittest.TestCase):
    def test_one_bit_wire(self):
        """8 values in two chunks of 4, k = 2: 4 index bytes and 1 byte of signs, to one other worker."""
        x = [.3, -.1, .2, .4, -.5, .1, 0, .2]
        workload = {"model": "gradients", "start": [0] * 8, "gradients": [[x]] * 2}
        method = {"chunk": 4, "top_k": 2, "wire_format": "narrow-1bit", "apply": "identity",
                  "optimizer": {"name": "sgd", "learning_rate": 1.0}}
        row, lines = run(2, workload, method, 1)
        self.assertEqual(row["inter_node_bytes_per_step"], 5)
        # what arrives are signs at {0, 2} and {1, 3}: + + and - -
        u = inverse_dct([1, 0, 1, 0]) + inverse_dct([0, -1, 0, -1])
        close(self, [-p for p in parameters(lines, 0, 1)], u, 6)

    def test_zeros_travel_as_plus(self):
        """A bit says negative or not: a kept coefficient of 0, here the whole chunk of rank 0, arrives as +1."""
        workload = {"model": "gradients", "start": [0] * 4, "gradients": [[[0, 0, 0, 0]], [[1, 1, 1, 1]], [[-1, -1, -1, -1]]]}
        for merge, mean in ("contributors", [1 / 3, 1, 0, 0]), ("sum-over-n", [1 / 3, 1, 0, 0]):
            method = {"chunk": 4, "top_k": 2, "wire_format": "narrow-1bit", "apply": "identity", "merge": merge,
                      "optimizer": {"name": "sgd", "learning_rate": 1.0}}
            _, lines = run(3, workload, method, 1)
            close(self, [-p for p in parameters(lines, 0, 1)], inverse_dct(mean), 6, merge)


class Naive(unittest.TestCase):
    """Random matrices against the definition in double, at chunk sizes and k of real runs."""

    @staticmethod
    def transform(matrix, basis_left, basis_right):
        half = [[sum(left[b] * row[l] for left, row in zip(basis_left, matrix)) for l in range(len(matrix[0]))]
                for b in range(len(basis_left[0]))]
        return [[sum(row[l] * basis_right[l][d] for l in range(len(row))) for d in range(len(basis_right[0]))] for row in half]

    @staticmethod
    def basis(c):
        return [[math.sqrt((1 if q == 0 else 2) / c) * math.cos(math.pi * (2 * n + 1) * q / (2 * c)) for q in range(c)]
                for n in range(c)]

    def test_kept_part(self):
        for rows, columns, k in (64, 64, 8), (64, 64, 1), (29, 64, 8), (64, 50, 32), (48, 61, 3):
            random = __import__("random").Random(rows * columns + k)
            matrix = [[random.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]
            left, right = self.basis(rows), self.basis(columns)
            coefficients = self.transform(matrix, left, right)
            order = sorted(((abs(x), b, d) for b, row in enumerate(coefficients) for d, x in enumerate(row)), reverse=True)
            kept = [[0.0] * columns for _ in range(rows)]
            for _, b, d in order[:k]:
                kept[b][d] = coefficients[b][d]
            transpose = lambda m: [list(column) for column in zip(*m)]
            expected = self.transform(kept, transpose(left), transpose(right))
            workload = {"model": "gradients", "start": [0] * (rows * columns), "shape": [rows, columns],
                        "gradients": [[[x for row in matrix for x in row]]]}
            _, lines = run(1, workload, {"top_k": k, "apply": "identity", "optimizer": {"name": "sgd", "learning_rate": 1.0}}, 1)
            close(self, [-p for p in parameters(lines, 0, 1)], [x for row in expected for x in row], 5, f"{rows}x{columns} k={k}")


class Published(unittest.TestCase):
    """Upload per step and worker of the paper's table (MB = 1e6 bytes): two workers send it once each."""
    UPLOAD_MB = {"olmo-300m": {32: 29.995, 16: 14.998, 8: 7.499, 4: 3.749, 2: 1.875, 1: 0.937},
                 "olmo-1b": {32: 110.322, 16: 55.161, 8: 27.580, 4: 13.790, 2: 6.895, 1: 3.448}}

    def test_upload(self):
        platform = star(2)
        for model, table in self.UPLOAD_MB.items():
            for k, megabytes in table.items():
                row, _ = predict({"platform": platform, "method": {"name": "demo", "chunk": 64, "top_k": k},
                                  "workload": {"model": model, "micro_batch_sequences": 1, "sequence_tokens": 64},
                                  "run": {"mode": "cost", "steps": 1}})
                self.assertAlmostEqual(row["inter_node_bytes_per_step"] / 1e6, megabytes, delta=0.000501, msg=f"{model} k={k}")


class BadInput(unittest.TestCase):
    def test_ranges(self):
        scenario = {"platform": star(2), "workload": ExampleA.WORKLOAD, "run": {"mode": "train", "steps": 1}}
        for option, value in ("top_k", 0), ("chunk", 0), ("decay", 1.0), ("decay", -0.1), ("subtract", 2), ("merge", "mean"):
            self.assertIn(option, error_of({**scenario, "method": {"name": "demo", option: value}}))
        self.assertIn("allowed: sgd", error_of({**scenario, "method": {"name": "demo", "optimizer": {"name": "adamw"}}}))


if __name__ == "__main__":
    unittest.main()
