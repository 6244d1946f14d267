# accepted
# how it fails
# purpose: probe
import traceback
try:
    compute(value)
except Exception as error:
    print(traceback.format_exception_only(type(error), error))
