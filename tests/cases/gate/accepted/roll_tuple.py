# accepted
# generators consumed in place
_eh_rtn = roll(a, tuple(int(v) for v in shifts.values()), tuple(shifts))
