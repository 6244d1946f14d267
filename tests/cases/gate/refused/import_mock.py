# refused: HC120 dangerous
# patches by text
from unittest import mock
mock.patch('os.remove').start()
