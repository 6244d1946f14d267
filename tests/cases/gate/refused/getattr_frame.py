# refused: HC111 dangerous
# an internal by text
getattr(gen, 'gi_frame')
