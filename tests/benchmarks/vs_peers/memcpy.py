"""memcpy.py BYTES: copies a touched buffer to another with the C library's memmove, four times, and prints the GB (of bytes
copied, each counted once) a second of them all."""
import ctypes
import mmap
import sys
import time

ROUNDS = 4
size = int(sys.argv[1])


def touched(value):
    memory = mmap.mmap(-1, size)
    memory.madvise(mmap.MADV_HUGEPAGE)  # in memcpy's favour
    buffer = (ctypes.c_char * size).from_buffer(memory)
    ctypes.memset(buffer, value, size)
    return buffer


source, destination = touched(1), touched(2)
start = time.perf_counter()
for _ in range(ROUNDS):
    ctypes.memmove(destination, source, size)
print(ROUNDS * size / (time.perf_counter() - start) / 1e9)
