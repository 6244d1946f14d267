# refused: HC120 dangerous, HC133 dangerous
# a process
import subprocess
subprocess.run(['pip', 'install', 'olefile'])
