# refused: HC134 unsupported
# calls out of sight, without end
for chunk in iter(stream.read, b''):
    parts.append(chunk)
