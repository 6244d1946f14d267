# refused: HC111 dangerous
# letters that look alike
getattr(x, 'ｇi_frame')
