# refused: HC110 dangerous
# changes a module
json.__doc__ = 'x'
