"""Runs a program on a terminal of its own: on_terminal.py COLUMNS PROGRAM ARGUMENTS… Prints what it printed there."""
import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
printed = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:  # the other end is closed
        break
    if not part:
        break
    printed += part
sys.stdout.buffer.write(printed)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
