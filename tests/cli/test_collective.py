"""longhaul collective: times against closed forms computed here, columns, lists of sizes, mistakes.

Closed form of a ring on a star: 2 (n-1) (2 L + S / (n B)) for all-reduce, half of it for its two
halves; L is one node's link, so a path is two of them.
"""

import csv
import io
import json
import unittest

from cli_case import CliCase

COLUMNS = ["kind", "algorithm", "timing", "nodes", "ranks", "bytes", "time_s", "lower_bound_s",
           "algorithm_bandwidth_Bps", "bus_bandwidth_Bps"]


class Collective(CliCase):
    def rows(self, kind, *arguments):
        return json.loads(self.good("collective", kind, *arguments, "--json"))

    def star(self, kind, nodes, *arguments):
        return self.rows(kind, "--nodes", str(nodes), "--bandwidth", "1Gbps", "--latency", "50us",
                         *arguments)

    def test_the_reference_ring(self):
        (row,) = self.star("all-reduce", 8, "--algorithm", "ring", "--timing", "exact", "--bytes",
                           "100MB")
        self.assertEqual(list(row), COLUMNS)
        time_s = 2 * 7 * (2 * 50e-6 + 100e6 / (8 * 125e6))
        self.assertAlmostEqual(time_s, 1.4014, places=12)
        self.assertLess(abs(row["time_s"] / time_s - 1), 1e-9)
        self.assertLess(abs(row["algorithm_bandwidth_Bps"] / (100e6 / time_s) - 1), 1e-9)
        self.assertLess(abs(row["bus_bandwidth_Bps"] / (100e6 / time_s * 14 / 8) - 1), 1e-9)
        self.assertEqual((row["kind"], row["algorithm"], row["timing"], row["nodes"], row["ranks"],
                          row["bytes"]), ("all-reduce", "ring", "exact", 8, 8, 100000000))

    def test_rings_of_odd_sizes(self):
        for nodes in (2, 3, 5, 7):
            for kind, halves, factor in (("all-reduce", 2, 2 * (nodes - 1) / nodes),
                                         ("reduce-scatter", 1, (nodes - 1) / nodes),
                                         ("all-gather", 1, (nodes - 1) / nodes)):
                rows = self.star(kind, nodes, "--algorithm", "ring", "--timing", "exact",
                                 "--bytes", "0,1,97,1MiB")
                self.assertEqual([r["bytes"] for r in rows], [0, 1, 97, 1048576])
                for r in rows:
                    expected = halves * (nodes - 1) * (1e-4 + r["bytes"] / (nodes * 125e6))
                    self.assertLess(abs(r["time_s"] / expected - 1), 1e-9, r)
                    self.assertLessEqual(r["lower_bound_s"], r["time_s"])
                    bus = r["bytes"] / r["time_s"] * factor
                    self.assertAlmostEqual(r["bus_bandwidth_Bps"], bus, delta=1e-9 * bus)

    def test_sizes(self):
        rows = self.star("broadcast", 2, "--bytes", "8:1KiB:x4")
        self.assertEqual([r["bytes"] for r in rows], [8, 32, 128, 512])
        rows = self.star("broadcast", 2, "--bytes", "1kB:3kB:+1kB")
        self.assertEqual([r["bytes"] for r in rows], [1000, 2000, 3000])
        rows = self.star("broadcast", 2, "--bytes", "2:16")
        self.assertEqual([r["bytes"] for r in rows], [2, 4, 8, 16])

    def test_several_ranks_per_node(self):
        (row,) = self.rows("all-reduce", "--nodes", "2", "--accelerators", "4", "--bandwidth",
                           "10Gbps", "--latency", "5us", "--set",
                           "platform.fabric.bandwidth=100GB/s", "--bytes", "1MB")
        self.assertEqual((row["nodes"], row["ranks"]), (2, 8))
        self.assertGreaterEqual(row["time_s"], row["lower_bound_s"])

    def test_a_group_in_its_own_order(self):
        (row,) = self.star("all-reduce", 8, "--ranks", "6,1,3", "--algorithm", "ring", "--bytes",
                           "3MB")
        self.assertEqual((row["nodes"], row["ranks"]), (3, 3))
        self.assertLess(abs(row["time_s"] / (4 * (1e-4 + 1e6 / 125e6)) - 1), 1e-9)
        self.refused(["collective", "all-reduce", "--platform", "star", "--ranks", "0,0"], "--ranks")
        self.refused(["collective", "all-reduce", "--platform", "star", "--ranks", "0,8"], "0..7")

    def test_fluid_agrees(self):
        exact, fluid = [self.star("all-reduce", 6, "--algorithm", "ring", "--timing", timing,
                                  "--bytes", "10MB")[0]["time_s"] for timing in ("exact", "fluid")]
        self.assertLess(abs(fluid / exact - 1), 0.02)

    def test_csv_and_table(self):
        arguments = ["collective", "all-reduce", "--platform", "star", "--bytes", "1kB,1MB"]
        table = list(csv.reader(io.StringIO(self.good(*arguments, "--csv"))))
        self.assertEqual(table[0], COLUMNS)
        self.assertEqual(len(table), 3)
        text = self.good(*arguments)
        self.assertIn("1.00 MB", text)
        self.assertEqual(len({len(line) for line in text.splitlines()}), 1, "columns are ragged")

    def test_zero_time_has_no_bandwidth(self):
        (row,) = self.rows("all-reduce", "--nodes", "1", "--bandwidth", "1Gbps", "--latency", "1us",
                           "--bytes", "1MB")
        self.assertEqual((row["time_s"], row["bus_bandwidth_Bps"]), (0, None))

    def test_mistakes(self):
        c = "collective"
        self.refused([c, "all-redcue"], '"all-redcue"', 'did you mean "all-reduce"?')
        self.refused([c, "all-reduce", "--platform", "star", "--algorithm", "rign"], '"ring"?')
        self.refused([c, "all-reduce", "--platform", "star", "--timing", "exakt"], '"exact"?')
        self.refused([c, "all-reduce", "--platform", "star", "--flow-model", "udp"], "ideal, tcp")
        self.refused([c, "all-reduce", "--platform", "star", "--bytes", "5m"], "--bytes", '"5m"')
        self.refused([c, "all-reduce", "--platform", "star", "--bytes", "8:4:x2"], "ascending")
        self.refused([c, "all-reduce", "--platform", "star", "--bytes", "1:4:x1"], "x2")
        self.refused([c, "all-reduce", "--platform", "star", "--root", "9"], "--root")
        self.refused([c, "all-reduce", "--platform", "star", "--set", "run.seed=1"], "platform.*")
        self.refused([c, "all-reduce", "--platform", "nowhere"], "nowhere")
        self.refused([c, "barrier", "--platform", "star", "--algorithm", "ring"], "barrier")
        self.refused([c, "all-reduce", "--nodes", "4"], "platform.network.bandwidth")
        self.refused([c, "all-reduce", "--nodes", "0"], '--nodes: found "0"')
        self.refused([c, "all-reduce"], "--platform FILE|NAME", "--nodes N")
        self.refused(["platform", "show", "star", "--platform", "ring"], "two platforms")
        bandwidth = [c, "all-reduce", "--nodes", "4", "--latency", "1us", "--bandwidth"]
        self.refused([*bandwidth, "10"], "platform.network.bandwidth", "without a unit")
        self.refused([*bandwidth, "10ms"], '"10ms"', '"10Gbps"')
        self.refused([*bandwidth, "-1Gbps"], '"-1Gbps"', "not negative")
        self.refused([*bandwidth, "0Gbps"], "platform.network.bandwidth")
        self.refused([c, "all-reduce", "--platform", "star", "--set", "platform.nodes=0"], "nodes",
                     "found 0")


if __name__ == "__main__":
    unittest.main()
