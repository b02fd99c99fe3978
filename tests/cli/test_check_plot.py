"""longhaul check and plot, on result files written here: analysis knows nothing else."""

import json
import os
import re
import struct
import unittest
import xml.etree.ElementTree

from cli_case import CliCase

HEADER = ("scenario,method,platform,nodes,workload,seed,mode,flow_model,status,step_s,wall_clock_s,"
          "final_loss,seconds_to_target,reason,part,platform.nodes,platform.network.bandwidth\n")


def row(scenario, method, nodes, bandwidth, step_s, mode="cost", loss="", target="", status="done"):
    part = "predict" if mode == "cost" else "learn"
    return (f'{scenario},{method},star,{nodes},gpt,1,{mode},ideal,{status},{step_s},{4 * step_s},'
            f'{loss},{target},"a, ""b""",{part},{nodes},{bandwidth}\n')


class WithResults(CliCase):
    def results(self, change=lambda step_s: step_s, drop=None, extra=""):
        rows = [row(f"p{m}{n}{b}", m, n, b, change(t * n))
                for m, t in (("ddp", 0.5), ("demo", 0.01)) for n in (2, 8, 64)
                for b in ("100Mbps", "1Gbps")]
        rows += [row("l1", "ddp", 2, "100Mbps", 1.0, "train", 2.5, 12.5),
                 row("l2", "demo", 2, "100Mbps", 0.02, "train", 2.6, 0.75)]
        rows = [r for i, r in enumerate(rows) if i != drop]
        self.write("e/results/scenarios.csv", HEADER + "".join(rows) + extra)
        curves = "".join(f"{s},{k},{k},{k * step},{5 / (k + 1)},,{k}\n"
                         for s, step in (("l1", 1.0), ("l2", 0.02)) for k in range(1, 30))
        self.write("e/results/curves.csv", "scenario,step,tokens,virtual_s,train_loss,"
                   "validation_loss,inter_node_bytes\n" + curves)
        return self.path("e")


class Check(WithResults):
    def test_unchanged(self):
        folder = self.results()
        self.refused(["check", folder], "baseline.json", "--update")
        self.assertEqual(self.good("check", folder, "--update"),
                         "baseline.json now holds 14 scenarios\n")
        self.assertEqual(self.good("check", folder),
                         "32 values of 14 scenarios compared, 0 differ\n")
        self.assertTrue(json.loads(self.good("check", folder, "--json"))["ok"])

    def test_moved(self):
        folder = self.results()
        self.good("check", folder, "--update")
        self.results(lambda t: t * 1.01 if t == 0.5 * 8 else t)
        done = self.refused(["check", folder], "4 results differ", status=1)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[2], r"^moved +step_s +4 +4.04 +\+1 % +0.0001 % +ddp .*nodes=8")
        self.assertEqual(len(lines), 1 + 4 + 1)  # both bandwidths: step_s and wall_clock_s
        report = json.loads(self.run_program("check", folder, "--json").stdout)
        self.assertFalse(report["ok"])
        self.assertAlmostEqual(report["changes"][0]["relative_change"], 0.01)
        self.good("check", folder, "--tolerance", "0.0101")
        self.refused(["check", folder, "--tolerance", "0.0099"], "differ", status=1)
        self.refused(["check", folder, "--tolerance", "1%"], "--tolerance", '"1%"')

    def test_update_shows_the_difference_first(self):
        folder = self.results()
        self.good("check", folder, "--update")
        self.results(lambda t: 2 * t)
        text = self.good("check", folder, "--update")
        self.assertIn("+100 %", text)
        self.assertTrue(text.endswith("baseline.json now holds 14 scenarios\n"))
        self.good("check", folder)

    def test_own_tolerances_are_kept(self):
        folder = self.results()
        self.good("check", folder, "--update")
        baseline = json.loads(self.read("e/baseline.json"))
        baseline["tolerance"] = {"step_s": 0.05, "wall_clock_s": 0.05}
        self.write("e/baseline.json", baseline)
        self.results(lambda t: t * 1.04)
        self.good("check", folder)
        self.good("check", folder, "--update")
        self.assertEqual(json.loads(self.read("e/baseline.json"))["tolerance"]["step_s"], 0.05)
        self.write("e/baseline.json", {**baseline, "tolerance": {"step_sec": 1}})
        self.refused(["check", folder], "tolerance", '"step_sec"', '"step_s"?')

    def test_rows_come_and_go(self):
        folder = self.results()
        self.good("check", folder, "--update")
        self.results(drop=3)
        done = self.refused(["check", folder], "1 results differ", status=1)
        self.assertRegex(done.stdout, r"(?m)^missing .*ddp .*nodes=8")
        self.results(extra=row("n", "noloco", 2, "1Gbps", 1.0))
        self.assertRegex(self.good("check", folder), r"(?m)^new .*noloco")
        self.results(drop=0, extra=row("f", "ddp", 2, "100Mbps", 1.0, status="failed"))
        done = self.refused(["check", folder], "differ", status=1)
        self.assertRegex(done.stdout, r"(?m)^status +status +done +failed")

    def test_a_value_that_vanishes_has_moved(self):
        folder = self.results()
        self.good("check", folder, "--update")
        text = self.read("e/results/scenarios.csv").decode()
        self.write("e/results/scenarios.csv", text.replace(",2.6,0.75,", ",2.6,,"))
        done = self.refused(["check", folder], "1 results differ", status=1)
        self.assertRegex(done.stdout, r"(?m)^moved +seconds_to_target +0.75 ")

    def test_damaged_results(self):
        folder = self.results(extra="short,row\n")
        self.refused(["check", folder], "scenarios.csv: line 16", "found 2 cells", "17")
        self.refused(["check", self.path("nothing")], "longhaul run")


class Plot(WithResults):
    def test_pictures(self):
        paths = self.good("plot", self.results()).split()
        names = sorted(os.path.basename(p) for p in paths)
        self.assertEqual(names, sorted(f"{n}.{e}" for n in ("loss-gpt", "loss-tokens-gpt",
                                                            "step-time-gpt",
                                                            "step-bandwidth-gpt")
                                       for e in ("svg", "png")))
        for path in paths:
            with open(path, "rb") as f:
                data = f.read()
            if path.endswith(".png"):
                self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
                width, height = struct.unpack(">II", data[16:24])
                self.assertGreater(width, 400)
                self.assertGreater(height, 300)
            else:
                text = "".join(xml.etree.ElementTree.fromstring(data).itertext())
                for word in ("ddp", "demo"):
                    self.assertIn(word, text)

    def test_axes_say_what_they_are(self):
        self.good("plot", self.results())
        time = self.read("e/plots/step-time-gpt.svg").decode()
        self.assertIn("wall-clock per step (s)", time)
        self.assertIn("nodes", time)
        self.assertIn("bandwidth 100Mbps", time)
        bandwidth = self.read("e/plots/step-bandwidth-gpt.svg").decode()
        self.assertIn("100 Mbps", bandwidth)
        self.assertIn("64 nodes", bandwidth)
        self.assertIn("virtual time (s)", self.read("e/plots/loss-gpt.svg").decode())
        self.assertIn("tokens, all ranks", self.read("e/plots/loss-tokens-gpt.svg").decode())

    def test_curves_over_tokens(self):
        """Both methods end at the same tokens, and large counts have a prefix."""
        folder = self.results()
        curves = self.read("e/results/curves.csv").decode().splitlines()
        cells = [line.split(",") for line in curves[1:]]
        self.write("e/results/curves.csv", "\n".join([curves[0]] + [
            ",".join([c[0], c[1], str(50000 * int(c[2])), *c[3:]]) for c in cells]) + "\n")
        self.good("plot", folder)
        data = self.read("e/plots/loss-tokens-gpt.dat").decode()
        ends = [b.split("\n")[-1].split()[0] for b in data.strip().split("\n\n\n")]
        self.assertEqual(ends, ["1450000", "1450000"])
        text = "".join(xml.etree.ElementTree.fromstring(
            self.read("e/plots/loss-tokens-gpt.svg")).itertext())
        self.assertIn("500.0k", text)
        self.assertIn("1.0M", text)

    def test_a_method_has_one_colour(self):
        """In a picture where it comes second as in one where it comes third."""
        folder = self.results(extra=row("x", "noloco", 2, "1Gbps", 1.0) +
                              row("y", "noloco", 8, "1Gbps", 1.0))
        text = self.read("e/results/scenarios.csv").decode()
        self.write("e/results/scenarios.csv", text.replace("l2,demo", "l2,noloco"))
        self.good("plot", folder)
        colours = []
        for name in ("loss-gpt", "step-time-gpt"):
            script = self.read(f"e/plots/{name}.gp").decode()
            style = re.search(r"linetype (\d+) title 'noloco'", script).group(1)
            colours.append(re.search(rf"set linetype {style} linecolor rgb '(.*?)'", script)[1])
        self.assertEqual(colours[0], colours[1])
        scripts = self.read("e/plots/step-time-gpt.gp").decode().split("reset")[1]
        all_of_them = re.findall(r"set linetype \d+ linecolor rgb '(.*?)'", scripts)
        self.assertEqual(len(all_of_them), len(set(all_of_them)))

    def test_data_beside_the_picture(self):
        """The .dat file holds the numbers of the results, each series a block, ascending."""
        self.good("plot", self.results())
        blocks = [b for b in self.read("e/plots/step-time-gpt.dat").decode().split("\n\n\n")
                  if any(line and not line.startswith("#") for line in b.splitlines())]
        self.assertEqual(len(blocks), 4)
        numbers = [[float(v) for v in line.split()] for line in blocks[0].splitlines()
                   if line and not line.startswith("#")]
        self.assertEqual(numbers, [[2, 1], [8, 4], [64, 32]])

    def test_parts_share_a_picture_unless_they_hold_the_same(self):
        folder = self.results()
        text = self.read("e/results/scenarios.csv").decode()
        split = text.replace("predict,64", "large,64")
        self.assertNotEqual(split, text)
        self.write("e/results/scenarios.csv", split)
        self.assertIn("step-time-gpt.png", self.good("plot", folder))
        self.write("e/results/scenarios.csv", text + row("d", "ddp", 2, "1Gbps", 1.0)
                   .replace("predict", "again"))
        self.assertIn("step-time-predict.png", self.good("plot", folder))

    def test_nothing_to_draw(self):
        self.refused(["plot", self.path("nothing")], "longhaul run")
        self.write("e/results/scenarios.csv", HEADER + row("a", "ddp", 2, "1Gbps", 1.0))
        self.write("e/results/curves.csv", "scenario,step\n")
        self.refused(["plot", self.path("e")], "nothing to draw")

    def test_without_gnuplot(self):
        done = self.run_program("plot", self.results(), env={**os.environ, "PATH": self.folder})
        self.assertEqual(done.returncode, 1)
        self.assertIn("gnuplot-nox", done.stderr)


if __name__ == "__main__":
    unittest.main()
