"""Lists, dicts, sets, tuples, iteration."""
import array, bisect, collections, copy, heapq, itertools, operator, pickle, types
from lost import lost
from vault import wire

def unsafe_list_item():
    x = lost['x']
    d = [x, 'b']
    wire(d[0])
def safe_list_item():
    x = lost['x']
    d = [x, 'b']
    wire(d[1])

def unsafe_whole_list():
    x = lost['x']
    d = [['b'], [x]]
    wire(d)
def safe_whole_list():
    x = lost['x']
    d = [['b'], [x]]
    wire(d[0])

def unsafe_nested():
    x = lost['x']
    d = {'a': [{'b': (x, 'n')}], 'c': [{'b': ('y', 'n')}]}
    wire(d['a'][0]['b'][0])
def safe_nested():
    x = lost['x']
    d = {'a': [{'b': (x, 'n')}], 'c': [{'b': ('y', 'n')}]}
    wire(d['a'][0]['b'][1] + d['c'][0]['b'][0])

def unsafe_insert_shift():
    d = ['a', 'b']
    x = lost['x']
    d.append(x); d.insert(0, 'z')
    wire(d[3])
def safe_insert_shift():
    d = ['a', 'b']
    x = lost['x']
    d.append(x); d.insert(0, 'z')
    wire(d[2])

def unsafe_del_shift():
    x = lost['x']
    d = ['a', 'b', x]
    del d[0]
    wire(d[1])
def safe_del_shift():
    x = lost['x']
    d = ['a', x, 'c']
    del d[0:1]
    wire(d[1])

def unsafe_sort():
    x = lost['x']
    d = [x, 'a', 'z']
    d.sort()
    wire(d[1])
def safe_sort():
    x = lost['x']
    d = [x, 'a', 'z']
    d.sort(key=str.lower)
    wire(d[0])

def unsafe_sorted_key():
    x = lost['x']
    d = sorted([('b', 2), (x, 1)], key=lambda t: t[1])
    wire(d[0][0])
def safe_sorted_key():
    x = lost['x']
    d = sorted([('b', 2), (x, 1)], key=lambda t: t[1])
    wire(d[1][0])

def unsafe_reverse():
    x = lost['x']
    d = [x, 'b']; d.reverse()
    wire(d[1])
def safe_reverse():
    x = lost['x']
    d = [x, 'b']; d.reverse()
    wire(d[0])

def unsafe_slice():
    x = lost['x']
    wire(['a', x, 'c'][1:][0])
def safe_slice():
    x = lost['x']
    wire(['a', x, 'c'][1:][1])

def unsafe_slice_store():
    x = lost['x']
    d = list('abcd'); d[1:3] = [x]
    wire(d[1])
def safe_slice_store():
    x = lost['x']
    d = list('abcd'); d[1:3] = [x]
    wire(d[2])

def unsafe_star_unpack():
    x = lost['x']
    a, *b = ['p', 'q', x]
    wire(b[1])
def safe_star_unpack():
    x = lost['x']
    a, *b = ['p', 'q', x]
    wire(b[0] + a)

def unsafe_swap():
    x = lost['x']
    a, b = x, 'b'
    a, b = b, a
    wire(b)
def safe_swap():
    x = lost['x']
    a, b = x, 'b'
    a, b = b, a
    wire(a)

def unsafe_concat():
    x = lost['x']
    wire((['a'] + [x] * 2)[2])
def safe_concat():
    x = lost['x']
    wire((['a'] + [x] * 2)[0])

def unsafe_display_star():
    x = lost['x']
    wire([*'ab', *[x]][2])
def safe_display_star():
    x = lost['x']
    wire([*'ab', *[x]][1])

def unsafe_dict_display():
    x = lost['x']
    wire({**{'a': x}, 'b': 1}['a'])
def safe_dict_display():
    x = lost['x']
    wire({**{'a': x}, 'a': 1}['a'])

def unsafe_dict_get():
    x = lost['x']
    d = {'a': x, 'b': 'y'}
    wire(d.get('a', 'z'))
def safe_dict_get():
    x = lost['x']
    d = {'a': x, 'b': 'y'}
    wire(d.get('b') + d.get('n', 'z'))

def unsafe_dict_items():
    x = lost['x']
    for k, v in {'b': 'y', 'a': x}.items():
        if k == 'a': wire(v)
def safe_dict_items():
    x = lost['x']
    for k, v in {'b': 'y', 'a': x}.items():
        if k == 'b': wire(v)

def unsafe_dict_key():
    x = lost['x']
    for k in {x: 1, 'b': 2}:
        if k == 'hot': wire(k)
def safe_dict_key():
    x = lost['x']
    for k in {x: 1, 'b': 2}:
        if k == 'b': wire(k)

def unsafe_dict_update():
    x = lost['x']
    d = {'a': 1}; d.update(a=x)
    wire(d['a'])
def safe_dict_update():
    x = lost['x']
    d = {'a': x, 'b': 2}; d.update(a='n')
    wire(d['a'])

def unsafe_dict_merge():
    x = lost['x']
    wire(({'a': 1} | {'b': x})['b'])
def safe_dict_merge():
    x = lost['x']
    wire(({'a': 1} | {'b': x})['a'])

def unsafe_dict_pop():
    x = lost['x']
    d = {'a': x}
    wire(d.pop('a'))
def safe_dict_pop():
    x = lost['x']
    d = {'a': x}; d.pop('a'); d['a'] = 'n'
    wire(d['a'])

def unsafe_setdefault():
    x = lost['x']
    d = {}; d.setdefault('k', []).append(x)
    wire(d['k'][0])
def safe_setdefault():
    x = lost['x']
    d = {}; d.setdefault('k', []).append(x); d.setdefault('j', []).append('n')
    wire(d['j'][0])

def unsafe_defaultdict():
    x = lost['x']
    d = collections.defaultdict(list); d['k'].append(x)
    wire(d['k'])
def safe_defaultdict():
    x = lost['x']
    d = collections.defaultdict(list); d['k'].append(x); d['j'].append('n')
    wire(d['j'])

def unsafe_counter():
    x = lost['x']
    c = collections.Counter(['a', x, x])
    wire(c.most_common(1)[0][0])
def safe_counter():
    x = lost['x']
    c = collections.Counter([x]); e = collections.Counter(['a', 'a'])
    wire(e.most_common(1)[0][0])

def unsafe_ordered():
    x = lost['x']
    d = collections.OrderedDict([('a', x), ('b', 1)])
    wire(next(iter(d.values())))
def safe_ordered():
    x = lost['x']
    d = collections.OrderedDict([('a', x), ('b', 1)])
    wire(d['b'])

def unsafe_chainmap():
    x = lost['x']
    d = collections.ChainMap({'a': x}, {'b': 1})
    wire(d['a'])
def safe_chainmap():
    x = lost['x']
    d = collections.ChainMap({'a': x}, {'b': 1})
    wire(d['b'])

def unsafe_deque():
    x = lost['x']
    d = collections.deque(['a', 'b'], maxlen=2); d.append(x)
    wire(d[1])
def safe_deque():
    x = lost['x']
    d = collections.deque(['a', 'b'], maxlen=2); d.append(x); d.append('n')
    wire(d[1])

def unsafe_set():
    x = lost['x']
    s = {'a'}; s.add(x)
    wire(sorted(s)[1])
def safe_set():
    x = lost['x']
    s = {'a'}; s.add(x); t = {'b'} | {'c'}
    wire(sorted(t)[1])

def unsafe_frozenset():
    x = lost['x']
    wire(list(frozenset([x]) | {'a'}))
def safe_frozenset():
    x = lost['x']
    s = frozenset([x]) | {'a'}
    wire(list(s - {x}))

def unsafe_namedtuple():
    x = lost['x']
    T = collections.namedtuple('T', 'a b')
    t = T(x, 'b')
    wire(t.a)
def safe_namedtuple():
    x = lost['x']
    T = collections.namedtuple('T', 'a b')
    t = T(x, 'b')._replace(a='n')
    wire(t.a + t.b)

def unsafe_enumerate():
    x = lost['x']
    for i, v in enumerate(['a', x]):
        if i == 1: wire(v)
def safe_enumerate():
    x = lost['x']
    for i, v in enumerate(['a', x]):
        if i == 0: wire((i, v))

def unsafe_zip():
    x = lost['x']
    for a, b in zip(['p', 'q'], [x, 'y']):
        wire(b); break
def safe_zip():
    x = lost['x']
    for a, b in zip(['p', 'q'], [x, 'y']):
        wire(a); break

def unsafe_zip_list():
    x = lost['x']
    wire(list(zip('ab', [x, 'y']))[0][1])
def safe_zip_list():
    x = lost['x']
    wire(list(zip('ab', [x, 'y']))[1][1])

def unsafe_dict_zip():
    x = lost['x']
    wire(dict(zip('ab', [x, 'y']))['a'])
def safe_dict_zip():
    x = lost['x']
    wire(dict(zip('ab', [x, 'y']))['b'])

def unsafe_map():
    x = lost['x']
    wire(list(map(str.upper, ['a', x]))[1])
def safe_map():
    x = lost['x']
    wire(list(map(str.upper, ['a', x]))[0])

def unsafe_map_lambda():
    x = lost['x']
    wire(list(map(lambda v: v + '!', ['a', x]))[1])
def safe_map_lambda():
    x = lost['x']
    wire(list(map(lambda v: v + '!', ['a', x]))[0])

def unsafe_filter():
    x = lost['x']
    wire(list(filter(lambda v: v != 'a', ['a', x])))
def safe_filter():
    x = lost['x']
    wire(list(filter(lambda v: v == 'a', ['a', x])))

def unsafe_comprehension():
    x = lost['x']
    wire([v for v in ['a', x] if v != 'a'])
def safe_comprehension():
    x = lost['x']
    wire([v for v in ['a', x, 'c'] if v != x])

def unsafe_nested_comprehension():
    x = lost['x']
    wire([b for a in [['p'], [x]] for b in a][1])
def safe_nested_comprehension():
    x = lost['x']
    wire([b for a in [['p'], [x]] for b in a][0])

def unsafe_dict_comprehension():
    x = lost['x']
    wire({k: v for k, v in [('a', x), ('b', 'y')]}['a'])
def safe_dict_comprehension():
    x = lost['x']
    wire({k: v for k, v in [('a', x), ('b', 'y')]}['b'])

def unsafe_set_comprehension():
    x = lost['x']
    wire({v + '!' for v in ['a', x]})
def safe_set_comprehension():
    x = lost['x']
    wire({v + '!' for v in ['a', 'b'] if x})

def unsafe_chain_tools():
    x = lost['x']
    wire(list(itertools.chain(['a'], [x]))[1])
def safe_chain_tools():
    x = lost['x']
    wire(list(itertools.chain(['a'], [x]))[0])

def unsafe_islice():
    x = lost['x']
    wire(list(itertools.islice(iter(['a', x, 'c']), 1, 2)))
def safe_islice():
    x = lost['x']
    wire(list(itertools.islice(iter(['a', x, 'c']), 2, 3)))

def unsafe_groupby():
    x = lost['x']
    for k, g in itertools.groupby([x, 'b'], key=len):
        wire(list(g)); break
def safe_groupby():
    x = lost['x']
    for k, g in itertools.groupby(['bb', 'b'], key=len):
        wire(list(g)); break

def unsafe_accumulate():
    n = lost['n']
    wire(list(itertools.accumulate([1, n, 3]))[2])
def safe_accumulate():
    n = lost['n']
    wire(list(itertools.accumulate([1, n, 3]))[0])

def unsafe_product():
    x = lost['x']
    for a, b in itertools.product(['p'], [x]):
        wire(b)
def safe_product():
    x = lost['x']
    for a, b in itertools.product(['p'], [x]):
        wire(a)

def unsafe_iter_next():
    x = lost['x']
    it = iter(['a', x]); next(it)
    wire(next(it))
def safe_iter_next():
    x = lost['x']
    it = iter(['a', x])
    wire(next(it))

def unsafe_reversed():
    x = lost['x']
    wire(next(reversed(['a', x])))
def safe_reversed():
    x = lost['x']
    wire(next(reversed([x, 'a'])))

def unsafe_heap():
    h = []
    x = lost['x']
    heapq.heappush(h, 'z'); heapq.heappush(h, x); heapq.heappush(h, 'a')
    heapq.heappop(h)
    wire(heapq.heappop(h))
def safe_heap():
    h = []
    x = lost['x']
    heapq.heappush(h, 'z'); heapq.heappush(h, x); heapq.heappush(h, 'a')
    wire(heapq.heappop(h))

def unsafe_insort():
    d = ['a', 'z']
    x = lost['x']
    bisect.insort(d, x)
    wire(d[1])
def safe_insort():
    d = ['a', 'z']
    x = lost['x']
    bisect.insort(d, x)
    wire(d[2])

def unsafe_copy():
    x = lost['x']
    wire(copy.copy({'a': x, 'b': 'y'})['a'])
def safe_copy():
    x = lost['x']
    wire(copy.copy({'a': x, 'b': 'y'})['b'])

def unsafe_deepcopy():
    x = lost['x']
    wire(copy.deepcopy({'a': [x], 'b': ['y']})['a'][0])
def safe_deepcopy():
    x = lost['x']
    wire(copy.deepcopy({'a': [x], 'b': ['y']})['b'][0])

def unsafe_pickle():
    x = lost['x']
    wire(pickle.loads(pickle.dumps([x])))
def safe_pickle():
    x = lost['x']
    pickle.dumps([x])
    wire(pickle.loads(pickle.dumps(['a'])))

def unsafe_itemgetter():
    x = lost['x']
    wire(operator.itemgetter('a')({'a': x, 'b': 'y'}))
def safe_itemgetter():
    x = lost['x']
    wire(operator.itemgetter('b')({'a': x, 'b': 'y'}))

def unsafe_array():
    n = lost['n']
    a = array.array('i', [1, 2]); a[0] = n
    wire(a[0])
def safe_array():
    n = lost['n']
    a = array.array('i', [1, 2]); b = array.array('i', [n])
    wire(a[0])

def unsafe_bytearray():
    n = lost['n']
    b = bytearray(b'ab'); b.append(n)
    wire(bytes(b))
def safe_bytearray():
    n = lost['n']
    b = bytearray(b'ab'); c = bytearray([n])
    wire(bytes(b))

def unsafe_proxy():
    x = lost['x']
    wire(types.MappingProxyType({'a': x})['a'])
def safe_proxy():
    x = lost['x']
    wire(types.MappingProxyType({'a': x, 'b': 'y'})['b'])

def unsafe_index_by_healed():
    n = lost['n']
    wire(list('abcdefghij')[n])
def safe_index_by_healed():
    n = lost['n']
    d = list('abcdefghij'); d[n]
    wire(d[0])

def unsafe_table_by_healed():
    x = lost['x']
    wire({'hot': 'cold'}[x])
def safe_table_by_healed():
    x = lost['x']
    y = 'cold' if x == 'hot' else 'warm'
    wire(y)

def unsafe_loop_items():
    x = lost['x']
    out = []
    for v in ['a', x]:
        out.append(v)
    wire(out[1])
def safe_loop_items():
    x = lost['x']
    out = []
    for v in ['a', x]:
        out.append(v)
    wire(out[0])

def unsafe_while_pop():
    x = lost['x']
    todo = ['a', x]
    while todo:
        v = todo.pop()
        if v == 'hot': wire(v)
def safe_while_pop():
    x = lost['x']
    todo = ['a', x]
    while todo:
        v = todo.pop()
        if v == 'a': wire(v)

def unsafe_alias():
    e = []
    d = e
    x = lost['x']
    e.append(x)
    wire(d[0])
def safe_alias():
    e = []; d = []
    x = lost['x']
    e.append(x); d.append('n')
    wire(d[0])
