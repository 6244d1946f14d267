"""A cookie jar is handed to code that expects a dictionary: iterating it yields cookies, not names."""

from library import Cookie, Jar


def fill(target, cookies):
    for key in cookies:
        target.put(Cookie(key, cookies[key]))  # crashes twice: key is a cookie and cannot be looked up
    return target


def run():
    return fill(Jar(), Jar(Cookie("sid", "s3cret"), Cookie("lang", "en")))


def ok(result):
    return [(cookie.name, cookie.value) for cookie in result] == [("sid", "s3cret"), ("lang", "en")]
