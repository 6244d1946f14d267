# refused: HC122 dangerous
# a file
from io import FileIO
FileIO('x', 'w')
