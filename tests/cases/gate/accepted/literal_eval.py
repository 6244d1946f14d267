# accepted
# a literal read
import ast
value = ast.literal_eval(text)
