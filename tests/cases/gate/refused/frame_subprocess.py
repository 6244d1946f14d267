# refused: HC133 dangerous
# a process
subprocess.run(['id'])
