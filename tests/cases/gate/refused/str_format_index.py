# refused: HC135 dangerous
# a template that reads items
'{0[secret]}'.format(x)
