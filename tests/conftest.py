"""For all tests."""

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So begin runs in the background of a shell. Processes that tests start, and interrupt, would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
