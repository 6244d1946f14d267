# accepted
# every form
values = [1, 2.5, 3j, 'x', b'y', None, True, ..., (), {}, {1, 2}, {**base, 'a': 1}, [*rest]]
