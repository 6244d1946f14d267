# accepted
# a loop that leaves by break
while True:
    chunk = stream.read(1024)
    if not chunk:
        break
    parts.append(chunk)
