# accepted
# the text of a pattern
pat = pat.pattern
