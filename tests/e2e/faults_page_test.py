"""docs/faults.md has a row for every kind of fault that is tested, and a test for every row."""
import os
import pathlib
import unittest

import faults_test
import io_faults_test
import stalls_test

PAGE = pathlib.Path(os.environ["CKPTSIM_SOURCE"]) / "docs" / "faults.md"

TABLES = [io_faults_test.IN_A_RANK, io_faults_test.OF_THE_MANIFEST, io_faults_test.OF_THE_JOURNAL, io_faults_test.IN_A_LOAD,
          stalls_test.HANGS, stalls_test.OF_A_READER, stalls_test.OF_VERIFY, stalls_test.OF_THE_MAIN_THREAD]

# Rows whose test is not a table's.
ELSEWHERE = {
    "preallocating a file fails": faults_test.Faults.test_a_fault_of_any_call_ends_the_run_with_its_place,
    "io_uring answers with an error": faults_test.Faults.test_a_fault_of_any_call_ends_the_run_with_its_place,
    "a thread cannot be started": faults_test.Faults.test_a_thread_that_cannot_be_started_ends_the_run_with_a_sentence,
    "a process is killed": faults_test.Faults.test_a_killed_rank_ends_all_and_keeps_the_journal,
    "fsync of the manifest's folder fails":
        io_faults_test.IoFaults.test_a_fault_of_the_manifests_folder_leaves_a_checkpoint_that_is_not_reported,
    "the journal's first line fails":
        io_faults_test.IoFaults.test_a_fault_of_the_journals_first_line_ends_the_run_before_anything_is_written,
    "writing the result fails": io_faults_test.IoFaults.test_a_fault_of_the_result_keeps_the_journal,
    "a thin drive has no blocks left beneath the file system":
        io_faults_test.RealFaults.test_a_thin_drive_that_has_no_blocks_left_beneath_the_file_system,
    "verify cannot read some bytes": io_faults_test.RealFaults.test_a_drive_that_cannot_read_what_it_wrote,
    "a process is stopped or its host hangs": stalls_test.Stalls.test_a_stopped_process_ends_the_run,
}


class FaultsPage(unittest.TestCase):
    def test_rows_are_the_kinds_that_are_tested(self):
        rows = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("| ")]
        self.assertEqual(rows.pop(0), "what happens")
        self.assertEqual(len(rows), len(set(rows)), "a row each")
        self.assertEqual(set(rows), {kind for table in TABLES for kind in table} | set(ELSEWHERE))


if __name__ == "__main__":
    unittest.main()
