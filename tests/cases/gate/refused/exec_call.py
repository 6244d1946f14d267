# refused: HC130 dangerous
# text as code
exec('import os')
