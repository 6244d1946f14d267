# accepted
# paths as texts
target = os.path.join(base, os.path.basename(name))
