"""What a run leaves behind, what the next one meets, and what its tables and files say."""
import csv
import json
import os
import signal
import subprocess
import unittest
import zlib

from support import BINARY, EndToEnd, SMALL, checkpoint, environment

NAME = "llama3.1-405b-tp4pp2"


class Passes(EndToEnd):
    def test_the_main_job_over_three_passes(self):
        target = self.target()
        outcome = self.run_ok(*SMALL, "--passes", "3", "--checkpoints-per-pass", "2", "--target", target, processes=8)
        result, folder = self.result()
        self.assertEqual(result["status"], "complete")
        self.assertEqual([one["pass"] for one in result["passes"]], [1, 2, 3])
        for one in result["passes"]:
            durations = [c["save"]["duration_ns"] / 1e9 for c in one["checkpoints"]]
            self.assertEqual(len(durations), 2)
            self.assertAlmostEqual(one["save_average_s"], sum(durations) / 2, places=9)
            files = sum(c["save"]["file_bytes"] for c in one["checkpoints"])
            self.assertAlmostEqual(one["throughput_gb_per_s"], files / sum(durations) / 1e9, places=6)
            for c in one["checkpoints"]:
                self.check_save(c["save"], result["plan"])
        lines = (folder / "journal.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["type"] for line in lines], ["run"] + 6 * ["checkpoint"])
        self.assertEqual(json.loads(lines[0])["config"], result["config"])
        rows = list(csv.DictReader((folder / "checkpoints.csv").read_text().splitlines()))
        self.assertEqual(len(rows), 6)
        for row in rows:
            phases = sum(float(value) for key, value in row.items()
                         if key.endswith("_s") and key not in ("duration_s", "throughput_gb_per_s")
                         and not key.startswith("load_"))
            self.assertAlmostEqual(phases, float(row["duration_s"]), places=6)
        self.assertEqual(outcome.stdout.rstrip().splitlines()[-1], f"Result: {folder}")
        self.assertIn("SCALED", outcome.stdout)

    def check_save(self, save, plan):
        self.assertEqual(save["payload_bytes"], plan["checkpoint_bytes"])
        self.assertEqual(save["file_bytes"], plan["file_bytes"])
        self.assertEqual(save["duration_ns"], max(rank["duration_ns"] for rank in save["ranks"]))
        # Process 0's own: another process may have left the first barrier a moment before it.
        self.assertGreaterEqual(save["barrier_to_barrier_ns"], save["ranks"][0]["duration_ns"])
        for rank, planned in zip(save["ranks"], plan["ranks"]):
            self.assertEqual(rank["payload_bytes"], planned["bytes"])
            self.assertEqual(rank["file_bytes"], planned["file_bytes"])
            self.assertEqual(rank["sync_calls"], planned["files"] + 1)
            self.assertEqual(sum(rank["phases"].values()), rank["duration_ns"])
            self.assertLessEqual(rank["idle_ns"], rank["phases"]["write_ns"])
            latency = rank["latency"]
            self.assertTrue(latency["p50_ns"] <= latency["p99_ns"] <= latency["p999_ns"] <= latency["max_ns"])

    def test_the_manifest_names_sizes_and_crcs_of_the_files_and_of_itself(self):
        target = self.target()
        self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "1", "--target", target)
        text = (checkpoint(target) / "manifest.json").read_bytes()
        manifest = json.loads(text)
        digits = manifest["manifest_crc32"].encode()
        before, after = text.rsplit(digits, 1)
        self.assertEqual(f"{zlib.crc32(before):08x}".encode(), digits)
        self.assertEqual(after, b'"\n}\n')
        self.assertEqual((manifest["schema"], manifest["pass"], manifest["checkpoint"], manifest["synced"]),
                         ("ckptsim.manifest/2", 2, 1, True))
        self.assertEqual(len(manifest["files"]), 520)
        for file in manifest["files"]:
            data = (checkpoint(target) / file["name"]).read_bytes()
            self.assertEqual(len(data), file["file_bytes"])
            self.assertEqual(f"{zlib.crc32(data):08x}", file["crc32"], file["name"])
            for record in file["records"]:
                payload = data[record["offset"]:record["offset"] + record["bytes"]]
                self.assertEqual(f"{zlib.crc32(payload):08x}", record["crc32"], record["name"])

    def test_a_second_run_meets_new_files_and_says_what_it_removed(self):
        target = self.target()
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "3", "--target", target)
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target)
        result, _ = self.result()
        earlier = result["environment"]["targets"][0]["earlier_run"]
        self.assertGreaterEqual(earlier["files_removed"], 3 * 520)
        self.assertFalse(checkpoint(target, 2).exists())
        self.assertTrue((checkpoint(target) / "manifest.json").exists())

    def test_a_run_after_a_kill_meets_new_files_and_finds_no_stale_lock(self):
        target = self.target()
        command = [BINARY, "run", *SMALL, "--passes", "1000", "--checkpoints-per-pass", "1", "--target", str(target),
                   "--output", str(self.folder / "killed"), "--progress", "plain"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                              env=environment()) as process:
            process.stderr.readline()  # a first checkpoint is done, the next one is on its way
            process.send_signal(signal.SIGKILL)
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target)
        journals = list((self.folder / "killed").glob("*/journal.jsonl"))
        self.assertEqual(len(journals), 1)
        lines = journals[0].read_text().splitlines()
        self.assertGreaterEqual(len(lines), 2)
        self.assertEqual(json.loads(lines[1])["checkpoint"], 1)

    def test_a_run_under_mpirun_that_is_killed_leaves_a_target_for_the_next(self):
        target = self.target()
        with subprocess.Popen(["mpirun", "-np", "3", "--oversubscribe", "--bind-to", "none", BINARY, "run", *SMALL,
                               "--passes", "1000", "--checkpoints-per-pass", "1", "--target", str(target), "--output",
                               str(self.folder / "killed"), "--progress", "plain"], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True, env=environment()) as process:
            process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--target", target, processes=2)

    def test_warm_up_passes_stand_in_the_result_but_in_no_average(self):
        target = self.target()
        self.run_ok(*SMALL, "--passes", "1", "--checkpoints-per-pass", "1", "--set", "checkpoint.warmup_passes=2",
                    "--target", target)
        result, _ = self.result()
        self.assertEqual([(one["pass"], one["warmup"]) for one in result["passes"]], [(1, True), (2, True), (1, False)])
        manifest = json.loads((checkpoint(target) / "manifest.json").read_text())
        self.assertEqual((manifest["pass"], manifest["warmup"]), (1, False))

    def test_deleting_between_passes_is_recorded_outside_the_durations(self):
        target = self.target()
        self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "2", "--set",
                    "checkpoint.between_passes=delete", "--target", target)
        result, _ = self.result()
        self.assertEqual(result["passes"][0]["delete_ns"], 0)
        self.assertGreater(result["passes"][1]["delete_ns"], 0)
        self.assertEqual(result["passes"][1]["trim_ns"], 0)

    def test_dry_run_makes_nothing(self):
        target = self.target()
        outcome = self.ckptsim("run", *SMALL, "--target", target, "--dry-run", processes=2)
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertIn("Nothing was written", outcome.stdout)
        self.assertEqual(list(target.iterdir()), [])
        self.assertFalse((self.folder / "results").exists())

    def test_null_measures_the_software_alone_and_needs_no_target(self):
        self.run_ok(*SMALL, "--backend", "null", "--passes", "1", "--checkpoints-per-pass", "2", processes=2)
        result, _ = self.result()
        save = result["passes"][0]["checkpoints"][0]["save"]
        self.assertEqual(save["file_bytes"], result["plan"]["file_bytes"])
        self.assertEqual(save["bound_by"], "host")
        self.assertEqual(os.listdir(self.folder), ["results"])


if __name__ == "__main__":
    unittest.main()
