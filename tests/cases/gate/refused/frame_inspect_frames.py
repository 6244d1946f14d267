# refused: HC111 dangerous, HC133 dangerous
# frames behind a public attribute
tools.inspect.stack()[0].frame.f_back.f_globals
