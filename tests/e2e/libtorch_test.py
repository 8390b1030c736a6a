"""--serializer libtorch: torch's own writer makes the same files, and is there only when asked for."""
import json
import pathlib
import re
import subprocess
import unittest

import torch

from support import BINARY, EndToEnd, SMALL, checkpoint, digests

ONE = ["--passes", "1", "--checkpoints-per-pass", "1"]
LIBTORCH = ["--serializer", "libtorch"]


class Libtorch(EndToEnd):
    def write(self, name, *arguments, **keywords):
        target = self.target(name)
        self.run_ok(*SMALL, *ONE, "--target", target, *arguments, **keywords)
        files = digests(checkpoint(target))
        self.assertEqual(len(files), 520)
        return files, (checkpoint(target) / "manifest.json").read_text()

    def traced(self, calls, *arguments):
        """The lines that strace has of a run of the software alone."""
        log = self.folder / "strace.log"
        self.run_ok(*SMALL, *ONE, "--backend", "null", *arguments,
                    prefix=["strace", "-f", "-e", f"trace={calls}", "-o", str(log)])
        return log.read_text().splitlines()

    def test_every_file_and_manifest_is_that_of_stream_in_its_dialect(self):
        reference = self.write("stream", "--set", "storage.torch_dialect=1.13")
        for number, (settings, processes) in enumerate([([], None), (["--backend", "buffered"], 8),
                                                        (["--backend", "direct"], 3),
                                                        (["--set", "storage.block_bytes=4096"], None)]):
            with self.subTest(settings=settings, processes=processes):
                self.assertEqual(self.write(f"libtorch{number}", *LIBTORCH, *settings, processes=processes), reference)

    def test_content_of_every_kind_is_that_of_stream(self):
        content = ["--set", "content.kind=weights", "--set", "content.compressible_fraction=0.5"]
        self.assertEqual(self.write("libtorch", *LIBTORCH, *content),
                         self.write("stream", "--set", "storage.torch_dialect=1.13", *content))

    def test_a_second_pass_over_the_same_memory_writes_what_stream_writes(self):
        folders = []
        for name, settings in (("stream", ["--set", "storage.torch_dialect=1.13"]), ("libtorch", LIBTORCH)):
            folders.append(self.target(name))
            self.run_ok(*SMALL, "--passes", "2", "--checkpoints-per-pass", "2", "--target", folders[-1], *settings)
        self.assertEqual(len(digests(folders[0])), 2 * 520)
        self.assertEqual(digests(folders[0]), digests(folders[1]))

    def test_torch_loads_the_files_and_saves_them_again_as_they_are(self):
        target = self.target()
        self.run_ok(*SMALL, *ONE, *LIBTORCH, "--target", target)
        copies = self.folder / "copies"
        copies.mkdir()
        paths = sorted(checkpoint(target).glob("*.pt"))
        for path in [*paths[::100], *checkpoint(target).glob("mp_rank_0[04]*"), *checkpoint(target).glob("zero*0[07]_optim*")]:
            state = torch.load(path, weights_only=True)
            torch.save(state, copies / path.name)
            self.assertEqual((copies / path.name).read_bytes(), path.read_bytes(), path.name)

    def test_the_result_says_who_made_the_files_and_the_plan_knows_their_sizes(self):
        plan = json.loads(self.ckptsim("plan", *SMALL, "--set", "storage.serializer=libtorch", "--json").stdout)
        outcome = self.run_ok(*SMALL, *ONE, *LIBTORCH, "--target", self.target())
        self.assertIn("the files are made by LibTorch 1.13.", outcome.stdout)
        result, _ = self.result()
        self.assertEqual(result["effective"]["serializer"], "libtorch")
        self.assertRegex(result["effective"]["libtorch_version"], r"^1\.13\.\d+$")
        self.assertEqual(result["effective"]["torch_dialect"], "1.13")
        self.assertEqual(result["passes"][0]["checkpoints"][0]["save"]["file_bytes"], plan["file_bytes"])
        self.run_ok(*SMALL, *ONE, "--backend", "null")
        result, _ = self.result()
        self.assertEqual((result["effective"]["serializer"], result["effective"]["libtorch_version"]), ("stream", ""))

    def test_libtorch_is_loaded_only_when_asked_for(self):
        def opened(*arguments):
            return re.findall(r"lib(?:torch_cpu|c10)\.so|ckptsim_libtorch\.so", "".join(self.traced("openat", *arguments)))

        self.assertEqual(set(opened(*LIBTORCH)), {"libtorch_cpu.so", "libc10.so", "ckptsim_libtorch.so"})
        self.assertEqual(opened(), [])
        linked = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
        self.assertIn("libc.so", linked)
        self.assertNotRegex(linked, "libtorch|libc10")

    def test_torch_starts_no_threads_of_its_own(self):
        def threads(*arguments):
            return sum("CLONE_THREAD" in line for line in self.traced("clone,clone3", *arguments))

        self.assertEqual(threads(*LIBTORCH), threads())

    def test_an_error_in_the_middle_of_a_file_ends_the_run_and_nothing_else(self):
        limited = ["bash", "-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "bash"]
        self.refused(4, "run", *SMALL, *ONE, *LIBTORCH, "--target", self.target(), "--output", self.folder / "results",
                     prefix=limited, words=["cannot write", "_optim_states.pt at offset", "ulimit -f"])

    def test_an_installed_program_finds_its_module(self):
        prefix = self.folder / "prefix"
        subprocess.run(["cmake", "--install", pathlib.Path(BINARY).parent, "--prefix", prefix], check=True,
                       capture_output=True)
        self.assertEqual(len(list(prefix.glob("lib*/**/ckptsim/ckptsim_libtorch.so"))), 1)
        for module in pathlib.Path(prefix).glob("lib*/**/ckptsim_libtorch.so"):
            outcome = subprocess.run(["strace", "-f", "-e", "trace=openat", prefix / "bin" / "ckptsim", "run", *SMALL, *ONE,
                                      *LIBTORCH, "--backend", "null", "--output", self.folder / "results"],
                                     capture_output=True, text=True, timeout=120)
            self.assertEqual(outcome.returncode, 0, outcome.stderr[-2000:])
            self.assertIn(str(module), outcome.stderr)
            module.unlink()
        self.assert_no_module(subprocess.run([prefix / "bin" / "ckptsim", "run", *SMALL, *ONE, *LIBTORCH, "--backend",
                                              "null", "--output", self.folder / "results"],
                                             capture_output=True, text=True, timeout=120))

    def assert_no_module(self, completed):
        self.assertEqual(completed.returncode, 2, completed.stderr)
        self.assertRegex(completed.stderr, r"^ckptsim: storage\.serializer is libtorch, and there is no LibTorch in this "
                                           r"build: its module is not at .*libtorch-dev.*\n$")


if __name__ == "__main__":
    unittest.main()
