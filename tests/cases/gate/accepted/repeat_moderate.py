# accepted
# ordinary sizes
padding = ' ' * 80 + '0' * width
