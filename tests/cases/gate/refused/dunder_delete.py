# refused: HC110 dangerous
# deletes a special attribute
del x.__doc__
