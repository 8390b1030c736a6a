"""Skips are found in what ctest logs of gtest, unittest and whole programs."""
import unittest

from skipped import skipped

LOG = """1/4 Test: Backends/AnyTarget.WarmsUp/IoUring
Output:
----------------------------------------------------------
[ RUN      ] Backends/AnyTarget.WarmsUp/IoUring
/home/me/tests/contract/target_contract_test.cpp:66: Skipped
io_uring_setup: Operation not permitted
(a container forbids it)

[  SKIPPED ] Backends/AnyTarget.WarmsUp/IoUring (0 ms)
[==========] 1 test from 1 test suite ran. (0 ms total)
2/4 Test: hosts_test
Output:
----------------------------------------------------------
test_a_shared_target (__main__.Hosts.test_a_shared_target) ... skipped 'namespaces need root'
test_own_folders (__main__.Hosts.test_own_folders)
Says more about itself. ... skipped "this host's kernel has none"
test_that_runs (__main__.Hosts.test_that_runs) ... ok
OK (skipped=2)
3/4 Test: TorchPython.SmallArchives
Output:
----------------------------------------------------------
torch is not installed: skipped
<end of output>
4/4 Test: Zip.Writes
[  PASSED  ] 1 test.
"""


class Skipped(unittest.TestCase):
    def test_every_kind_is_listed_with_its_reason_in_order(self):
        self.assertEqual(skipped(LOG), [
            ("Backends/AnyTarget.WarmsUp/IoUring", "io_uring_setup: Operation not permitted (a container forbids it)"),
            ("test_a_shared_target", "namespaces need root"), ("test_own_folders", "this host's kernel has none"),
            ("TorchPython.SmallArchives", "torch is not installed: skipped")])

    def test_a_log_without_skips_has_none(self):
        self.assertEqual(skipped(LOG[LOG.index("4/4"):]), [])


if __name__ == "__main__":
    unittest.main()
