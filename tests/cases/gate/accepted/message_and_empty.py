# accepted
# report and start empty
data = {}
messages.append('cache is damaged; starting empty')
