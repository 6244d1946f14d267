# refused: HC130 dangerous
# a debugger
breakpoint()
