# refused: HC130 dangerous
# text as code under another name
[eval][0]('1')
