# accepted
# the program's own private attribute
df._df = df._df.set_axis([str(c) for c in df._df.columns], axis=1)
name = str(name)
