# refused: HC135 dangerous
# a template that reads attributes
'{0.__class__}'.format(x)
