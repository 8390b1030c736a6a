"""Two hosts made on one: network, host name and mounts of their own, a cable (veth) between them, and one mpirun that
starts its daemon on the other host through a remote shell agent, as on a cluster."""
import json
import os
import signal
import subprocess
import time
import unittest

from support import BINARY, EndToEnd, Outcome, checkpoint, digests, environment

CONFIG = "llama3.1-405b-tp4pp2"  # 8 ranks, 520 files
RANKS = (5, 3)
SECONDS_TO_END = 30  # from the fault to the last process of the run

# A daemon that loses its peer without a word notices by keep-alive alone: after 300 s as Open MPI comes.
KEEP_ALIVE = ["--mca", "oob_tcp_keepalive_time", "5", "--mca", "oob_tcp_keepalive_intvl", "2",
              "--mca", "oob_tcp_keepalive_probes", "3"]


def wait_until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.005)


class Host:
    """Namespaces that live as long as their processes: nothing has a name outside, and nothing is left."""

    def __init__(self, name, address):
        self.name = name
        self.address = address
        # Says that it has left this host's namespaces, and stays for as long as its input is open.
        self.keeper = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c",
                                        f"hostname {name} && echo ready && exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "ready\n":
            raise unittest.SkipTest("this machine allows no namespaces")
        self.network = os.readlink(f"/proc/{self.keeper.pid}/ns/net")

    def enter(self):
        return ["nsenter", "--target", str(self.keeper.pid), "--net", "--uts", "--mount"]

    def run(self, *command):
        return subprocess.run(self.enter() + [str(word) for word in command], check=True, capture_output=True,
                              text=True).stdout

    def connect(self):
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "cable")
        self.run("ip", "link", "set", "cable", "up")

    def sent_bytes(self):
        return int(self.run("cat", "/proc/net/dev").split("cable:")[1].split()[8])

    def processes(self, name=None):
        """Those on this host, but for its keeper."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/ns/net") != self.network:
                    continue
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    command = file.read().strip()
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # it has just ended, or is one that even root may not look at, so none of ours
            if int(pid) != self.keeper.pid and name in (None, command):
                found.append(int(pid))
        return found

    def kill(self, name=None):
        for pid in self.processes(name):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def remove(self):
        self.kill()
        self.keeper.communicate()


@unittest.skipUnless(os.geteuid() == 0, "namespaces need root")
class Cluster(EndToEnd):
    def setUp(self):
        super().setUp()
        self.hosts = []
        for number, side in enumerate(("east", "west"), start=1):
            host = Host(f"{side}{os.getpid()}", f"10.77.0.{number}")
            self.hosts.append(host)
            self.addCleanup(host.remove)
        self.east, self.west = self.hosts
        subprocess.run(["ip", "link", "add", "cable", "netns", str(self.east.keeper.pid), "type", "veth", "peer", "name",
                        "cable", "netns", str(self.west.keeper.pid)], check=True)
        names = self.folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{host.address} {host.name}\n" for host in self.hosts))
        for host in self.hosts:
            host.connect()
            host.run("mount", "--bind", names, "/etc/hosts")
        (self.folder / "hostfile").write_text(
            "".join(f"{host.name} slots={ranks}\n" for host, ranks in zip(self.hosts, RANKS)))
        # What ssh is on a cluster: the host's name, then the command for a shell there.
        agent = self.folder / "agent"
        agent.write_text(f'#!/bin/sh\n[ "$1" = {self.west.name} ] || exit 1\nshift\n'
                         f'exec {" ".join(self.west.enter())} sh -c "$*"\n')
        agent.chmod(0o755)

    def own_folders(self):
        """The same path on both hosts, and a folder of its own under it on each."""
        target = self.target()
        for host in self.hosts:
            host.run("mount", "--bind", self.target(host.name), target)
        return target

    def command(self, target, *arguments, mpi=()):
        return (self.east.enter() +
                ["mpirun", "--hostfile", str(self.folder / "hostfile"), "-np", str(sum(RANKS)), "--bind-to", "none",
                 "--mca", "plm_rsh_agent", str(self.folder / "agent"), *mpi, BINARY, "run", CONFIG, *arguments,
                 "--checkpoints-per-pass", "1", "--target", str(target), "--output", str(self.folder / "results")])

    def run_on_both(self, target, *arguments):
        before = [host.sent_bytes() for host in self.hosts]
        outcome = Outcome(subprocess.run(self.command(target, *arguments), capture_output=True, text=True, timeout=120,
                                         env=environment()))
        self.assertEqual(outcome.code, 0, outcome.stderr + outcome.stdout)
        for host, sent in zip(self.hosts, before):
            # Measurements and digests of 520 files go one way, their sizes and barriers the other.
            self.assertGreater(host.sent_bytes() - sent, 10_000, f"{host.name} spoke over the cable")
        return self.result()[0]

    def assert_hosts_in(self, result):
        self.assertEqual(result["status"], "complete")
        self.assertEqual(result["environment"]["hosts"],
                         [{"name": host.name, "ranks": ranks} for host, ranks in zip(self.hosts, RANKS)])
        self.assertEqual(result["environment"]["processes"], 8)
        for one_pass in result["passes"]:
            ranks = one_pass["checkpoints"][0]["save"]["ranks"]
            self.assertEqual([rank["host"] for rank in ranks], 5 * [self.east.name] + 3 * [self.west.name])

    def files_alone(self):
        alone = self.target("alone")
        self.run_ok(CONFIG, "--scale", "0.00001", "--passes", "2", "--checkpoints-per-pass", "1", "--target", alone)
        return digests(checkpoint(alone))

    def test_a_shared_folder_is_one_target(self):
        target = self.target()
        result = self.run_on_both(target, "--scale", "0.00001", "--passes", "2")
        self.assert_hosts_in(result)
        self.assertEqual([one["host"] for one in result["environment"]["targets"]], [self.east.name])
        self.assertEqual([path.name for path in checkpoint(target).glob("manifest*")], ["manifest.json"])
        self.assertEqual(digests(checkpoint(target)), self.files_alone())

    def test_folders_of_each_hosts_own_are_two_targets(self):
        result = self.run_on_both(self.own_folders(), "--scale", "0.00001", "--passes", "2")
        self.assert_hosts_in(result)
        self.assertEqual([one["host"] for one in result["environment"]["targets"]], [self.east.name, self.west.name])
        for one_pass in result["passes"]:
            ranks = one_pass["checkpoints"][0]["save"]["ranks"]
            self.assertEqual([rank["target"] for rank in ranks], 5 * [0] + 3 * [1])
        found = {}
        for host in self.hosts:
            folder = checkpoint(self.folder / host.name)
            self.assertEqual([path.name for path in folder.glob("manifest*")], [f"manifest-{host.name}.json"])
            files = json.loads((folder / f"manifest-{host.name}.json").read_text())["files"]
            here = digests(folder)
            self.assertEqual({file["name"] for file in files}, set(here))
            self.assertEqual({file["rank"] for file in files}, set(range(5) if host is self.east else range(5, 8)))
            found.update(here)
        self.assertEqual(found, self.files_alone())

    def journal(self):
        """The whole lines of the only result's journal."""
        paths = list((self.folder / "results").glob("*/journal.jsonl"))
        text = paths[0].read_text() if paths else ""
        return text[:text.rfind("\n") + 1].splitlines()

    def assert_fault_ends_the_run(self, fault, mpi=()):
        """Both hosts write for as long as it takes; `fault` strikes in the middle of a checkpoint."""
        target = self.own_folders()
        manifests = [checkpoint(self.folder / host.name) / f"manifest-{host.name}.json" for host in self.hosts]
        with subprocess.Popen(self.command(target, "--scale", "0.0001", "--passes", "1000", mpi=mpi),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env=environment()) as process:
            try:
                wait_until(lambda: len(self.journal()) >= 3, "two checkpoints in the journal")
                wait_until(lambda: not any(path.exists() for path in manifests), "the next checkpoint has begun")
                finished = len(self.journal())
                start = time.monotonic()
                fault()
                process.communicate(timeout=SECONDS_TO_END)
                wait_until(lambda: not any(host.processes() for host in self.hosts), "no process is left on any host",
                           seconds=SECONDS_TO_END)
                elapsed = time.monotonic() - start
            finally:
                process.kill()
        print(f"\n{self.id().split('.')[-1]}: ended after {elapsed:.1f} s", flush=True)
        self.assertNotEqual(process.returncode, 0)
        self.assertLess(elapsed, SECONDS_TO_END)
        self.assert_journal_is_whole(finished)
        self.assertFalse(all(path.exists() for path in manifests), "an unfinished checkpoint does not exist")
        return target

    def assert_journal_is_whole(self, finished):
        path = next((self.folder / "results").glob("*/journal.jsonl"))
        text = path.read_text()
        self.assertTrue(text.endswith("\n"))
        header, *checkpoints = [json.loads(line) for line in text.splitlines()]
        self.assertEqual((header["type"], header["config"]["name"]), ("run", CONFIG))
        self.assertGreaterEqual(1 + len(checkpoints), finished)
        self.assertEqual([one["pass"] for one in checkpoints], list(range(1, len(checkpoints) + 1)))
        for one in checkpoints:
            self.assertEqual([rank["rank"] for rank in one["save"]["ranks"]], list(range(8)))

    def test_killing_the_ranks_of_one_host_ends_the_run_on_both(self):
        target = self.assert_fault_ends_the_run(lambda: self.west.kill("ckptsim"))
        self.assert_hosts_in(self.run_on_both(target, "--scale", "0.00001", "--passes", "1"))

    def test_a_host_that_vanishes_without_a_word_ends_the_run_on_both(self):
        target = self.assert_fault_ends_the_run(lambda: self.west.run("ip", "link", "set", "cable", "down"),
                                                mpi=KEEP_ALIVE)
        self.west.run("ip", "link", "set", "cable", "up")
        self.assert_hosts_in(self.run_on_both(target, "--scale", "0.00001", "--passes", "1"))


if __name__ == "__main__":
    unittest.main()
