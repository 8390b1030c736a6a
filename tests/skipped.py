"""Which tests of a ctest log did not run, and why: python3 skipped.py LastTest.log

ctest counts a Python file as one test that passed, also where every case in it skipped, and shows no output of what
passed. So every skip is listed with its reason, and counted.
"""
import re
import sys

GTEST = re.compile(r": Skipped\n(?P<reason>.*?)\n+\[  SKIPPED \] (?P<name>\S+)", re.DOTALL)
UNITTEST = re.compile(r"^(?P<name>test_\w+) \([^)]*\)(?:\n[^\n]*)?? \.\.\. skipped (?P<quote>['\"])(?P<reason>.*)(?P=quote)$",
                      re.MULTILINE)
PROGRAM = re.compile(r"^\d+/\d+ Test: (?P<name>\S+)\n(?:(?!^\d+/\d+ Test: ).*\n)*?(?P<reason>.*: skipped)$", re.MULTILINE)


def skipped(log):
    """(name, reason) of every test that skipped, in the order of the log."""
    found = [(match.start(), match["name"], " ".join(match["reason"].split()))
             for pattern in (GTEST, UNITTEST, PROGRAM) for match in pattern.finditer(log)]
    return [(name, reason) for _, name, reason in sorted(found)]


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        found = skipped(file.read())
    for name, reason in found:
        print(f"skipped: {name}: {reason}")
    print(f"{len(found)} skipped")


if __name__ == "__main__":
    main()
