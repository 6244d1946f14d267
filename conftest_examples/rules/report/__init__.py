def title(settings):
    return settings["title"]


def line(name, count):
    return name + ": " + count


def first(rows):
    return rows[0]
