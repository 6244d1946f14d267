# refused: HC143 unsupported
# keeps its meaning
sys = fake
