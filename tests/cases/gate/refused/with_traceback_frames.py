# refused: HC110 dangerous, HC111 dangerous
# frames through an error's attribute
error.with_traceback(None).__traceback__.tb_next
