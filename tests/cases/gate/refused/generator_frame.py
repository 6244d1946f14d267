# refused: HC111 dangerous, HC145 unsupported
# frames through a generator
(x for x in y).gi_frame.f_back.f_globals
