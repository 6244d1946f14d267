# refused: HC111 dangerous
# code through a generator
stream.ag_code
