# refused: HC133 dangerous
# ends the process
sys.exit(1)
