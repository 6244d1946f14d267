# accepted
# every form
part = data[1:-1:2]
block = matrix[0, :, ...]
