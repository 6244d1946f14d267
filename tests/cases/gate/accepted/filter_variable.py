# accepted
# a local variable of the frame
# shadowed: filter
query = query.where(filter)
