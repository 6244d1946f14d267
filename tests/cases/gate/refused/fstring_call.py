# refused: HC130 dangerous
# code inside a string is code
f"{eval('1')}"
