"""Hours into a job one host's section lacks a key; a careless default steers a deletion."""

HOSTS = {
    "a": {"retries": 2, "purge": ""},
    "b": {"purge": ""},
    "c": {"retries": 1, "purge": ""},
}
DEFAULTS = {"retries": 3}
PURGED = []


def purge(path):
    """The protected operation; the real program would delete the tree."""
    PURGED.append(path)


def sync(host):
    section = HOSTS[host]
    retries = section["retries"]  # crashes on host b
    if section["purge"]:
        purge(section["purge"])
    return host, retries


def run():
    done = []
    for host in HOSTS:
        done.append(sync(host))
    return done


def ok(result):
    return result == [("a", 2), ("b", 3), ("c", 1)]
