# refused: HC132 dangerous
# changes a special attribute
setattr(x, '__class__', Other)
