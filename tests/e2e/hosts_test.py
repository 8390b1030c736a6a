"""Several hosts, made of namespaces on one: names of their own, and a target that is shared or each host's own."""
import json
import os
import subprocess
import unittest

from support import BINARY, EndToEnd, Outcome, SMALL, checkpoint, digests, environment, mpirun


@unittest.skipUnless(os.geteuid() == 0, "namespaces need root")
class Hosts(EndToEnd):
    def run_on_hosts(self, target, hosts, own_folders=False):
        """One process a host; with own_folders, `target` is another folder on each."""
        setup = "hostname host$OMPI_COMM_WORLD_RANK"
        if own_folders:
            for number in range(hosts):
                self.target(f"own{number}")
            setup += f" && mount --bind {self.folder}/own$OMPI_COMM_WORLD_RANK {target}"
        program = " ".join([BINARY, "run", *SMALL, "--passes", "2", "--checkpoints-per-pass", "1", "--target",
                            str(target), "--output", str(self.folder / "results")])
        outcome = Outcome(subprocess.run(
            mpirun(hosts) + ["unshare", "--uts", "--mount", "sh", "-c", f"{setup} && exec {program}"],
            capture_output=True, text=True, timeout=120, env=environment()))
        self.assertEqual(outcome.code, 0, outcome.stderr)
        return self.result()[0]

    def test_a_shared_target_is_one_target_with_one_manifest(self):
        target = self.target()
        result = self.run_on_hosts(target, 3)
        self.assertEqual(result["environment"]["hosts"], [{"name": "host0", "ranks": 3}, {"name": "host1", "ranks": 3},
                                                          {"name": "host2", "ranks": 2}])
        self.assertEqual(len(result["environment"]["targets"]), 1)
        self.assertEqual([path.name for path in checkpoint(target).glob("manifest*")], ["manifest.json"])
        self.assertEqual(len(json.loads((checkpoint(target) / "manifest.json").read_text())["files"]), 520)
        self.assertEqual(sorted(path.name for path in target.iterdir()), ["ckptsim"], "no token is left")
        alone = self.target("alone")
        self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "1", "--target", alone)
        self.assertEqual(digests(checkpoint(target)), digests(checkpoint(alone)))

    def test_folders_of_each_hosts_own_have_a_manifest_each(self):
        target = self.target()
        result = self.run_on_hosts(target, 2, own_folders=True)
        self.assertEqual([one["host"] for one in result["environment"]["targets"]], ["host0", "host1"])
        files = 0
        for number in range(2):
            folder = checkpoint(self.folder / f"own{number}")
            self.assertEqual([path.name for path in folder.glob("manifest*")], [f"manifest-host{number}.json"])
            listed = {file["name"] for file in json.loads((folder / f"manifest-host{number}.json").read_text())["files"]}
            self.assertEqual(listed, {path.name for path in folder.glob("*.pt")})
            files += len(listed)
            self.assertEqual(os.listdir(self.folder / f"own{number}"), ["ckptsim"])
        self.assertEqual(files, 520)
        ranks = result["passes"][1]["checkpoints"][0]["save"]["ranks"]
        self.assertEqual([rank["host"] for rank in ranks], 4 * ["host0"] + 4 * ["host1"])

    def test_a_target_that_is_missing_on_one_host_stops_all_with_that_hosts_name(self):
        target = self.target()
        program = " ".join([BINARY, "run", *SMALL, "--target", str(target), "--checkpoints-per-pass", "1"])
        script = ("hostname host$OMPI_COMM_WORLD_RANK; "
                  f"[ $OMPI_COMM_WORLD_RANK = 0 ] || mount -t tmpfs none {self.folder}; exec {program}")
        outcome = Outcome(subprocess.run(mpirun(2) + ["unshare", "--uts", "--mount", "sh", "-c", script],
                                         capture_output=True, text=True, timeout=60, env=environment()))
        self.assertNotEqual(outcome.code, 0)
        self.assertEqual(len(outcome.messages()), 1, outcome.stderr)
        self.assertIn(str(target), outcome.messages()[0])
        self.assertIn("host1", outcome.messages()[0])


if __name__ == "__main__":
    unittest.main()
