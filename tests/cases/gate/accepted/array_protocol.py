# accepted
# a protocol of libraries
values = other.__array__()
