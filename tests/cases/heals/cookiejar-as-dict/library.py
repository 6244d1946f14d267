"""A package that the program uses: not repository code, so errors in it belong to its caller."""


class Cookie:
    __hash__ = None

    def __init__(self, name, value):
        self.name, self.value = name, value


class Jar:
    def __init__(self, *cookies):
        self.all = list(cookies)

    def __iter__(self):
        return iter(self.all)

    def __getitem__(self, name):
        return {cookie.name: cookie.value for cookie in self.all}[name]

    def put(self, cookie):
        self.all.append(cookie)
