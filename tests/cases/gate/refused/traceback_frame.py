# refused: HC111 dangerous
# frames through a traceback
tb.tb_frame.f_locals
