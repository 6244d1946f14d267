# accepted
# classes compared
if value.__class__ is not Thing:
    value = Thing(value)
