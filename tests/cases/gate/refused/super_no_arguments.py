# refused: HC132 unsupported
# finds no class
super().run()
