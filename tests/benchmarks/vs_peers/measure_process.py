"""measure_process.py FOLDER COMMAND...: runs a command and leaves the CPU seconds of its process, user and system, the
kernel's io_uring workers among its threads included, in a file of FOLDER."""
import os
import pathlib
import resource
import subprocess
import sys

code = subprocess.call(sys.argv[2:])
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
pathlib.Path(sys.argv[1], str(os.getpid())).write_text(repr(usage.ru_utime + usage.ru_stime))
sys.exit(code)
