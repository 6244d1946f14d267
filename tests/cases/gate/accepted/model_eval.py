# accepted
# a method that is called like a builtin
model.eval()
