# refused: HC130 dangerous
# a file under another name
with (o := open)(path) as f:
    pass
