# refused: HC130 dangerous
# text as code under another name
(e := eval)('1')
