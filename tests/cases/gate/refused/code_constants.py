# refused: HC111 dangerous
# code
code.co_consts
