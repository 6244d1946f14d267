# accepted
# a loop whose test changes
while node.parent is not None:
    node = node.parent
