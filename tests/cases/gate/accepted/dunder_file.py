# accepted
# the module's own name
where = (__name__, __file__)
