# accepted
# a local variable of the frame
# shadowed: input
input = input.strip()
tokens = list(input)
