# accepted
# a special method called
n = other.__len__()
