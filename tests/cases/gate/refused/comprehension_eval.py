# refused: HC130 dangerous
# text as code
[eval(x) for x in xs]
