# refused: HC133 dangerous
# the process's streams
sys.stdout.write('x')
