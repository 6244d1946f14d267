# refused: HC110 dangerous
# a special name as a keyword
SimpleNamespace(__deepcopy__=self.delete)
