# accepted
# a loop whose test changes
while queue:
    node = queue.pop()
    queue.extend(node.children)
