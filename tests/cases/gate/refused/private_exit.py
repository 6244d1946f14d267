# refused: HC110 dangerous
# ends the process
mod._exit(0)
