# refused: HC110 dangerous, HC111 dangerous
# frames through an error
try:
    work()
except ValueError as error:
    error.__traceback__.tb_frame.f_globals
