# refused: HC140 unsupported
# ends the run
_eh_raise = KeyboardInterrupt()
