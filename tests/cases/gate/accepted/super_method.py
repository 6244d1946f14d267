# accepted
# the parent's method
_eh_rtn = super(Group, self).get(key)
