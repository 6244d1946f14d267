# refused: HC110 dangerous
# frames
mod._getframe(0)
