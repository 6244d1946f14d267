# refused: HC102 unsupported
# a function
@register
def heal():
    pass
