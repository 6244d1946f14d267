# accepted
# the package's own control flow
_eh_raise = self.Invalid('bad image', code=400)
