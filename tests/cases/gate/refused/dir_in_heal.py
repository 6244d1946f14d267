# refused: HC132 unsupported
# for probes
names = dir(x)
