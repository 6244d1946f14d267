"""Names, operators, conversions, text."""
import base64, datetime, decimal, fractions, hashlib, json, re, string, textwrap, urllib.parse, html, shlex, uuid, math, struct, binascii, zlib, pathlib, os.path, difflib, statistics, random, time, enum, unicodedata, codecs, quopri
from lost import lost
from vault import wire

def unsafe_chain():
    x = lost['x']
    y = x; z = y
    wire(z)
def safe_chain():
    x = lost['x']
    y = x; z = 'lit'
    wire(z)

def unsafe_augmented():
    n = lost['n']
    t = 1
    t += n
    wire(t)
def safe_augmented():
    n = lost['n']
    t = 1
    t += 2
    wire(t)

def unsafe_walrus():
    x = lost['x']
    if (y := x + '!') and True:
        wire(y)
def safe_walrus():
    x = lost['x']
    if (y := 'a' + '!') and x:
        wire(y)

def unsafe_ternary():
    x = lost['x']
    y = x if True else 'b'
    wire(y)
def safe_ternary():
    x = lost['x']
    y = 'a' if x else 'b'
    wire(y)

def unsafe_or():
    x = lost['x']
    wire(x or 'b')
def safe_or():
    e = lost['e']
    wire(e or 'b')

def unsafe_and():
    x = lost['x']
    wire('a' and x)
def safe_and():
    x = lost['x']
    wire(x and 'a')

def unsafe_control_branch():
    n = lost['n']
    out = 0
    if n > 3:
        out = n
    wire(out)
def safe_control_branch():
    n = lost['n']
    out = 0
    if n > 3:
        out = 9
    wire(out)

def unsafe_while():
    n = lost['n']
    t = 0
    while n > 0:
        t = t + n
        n = n - 1
    wire(t)
def safe_while():
    n = lost['n']
    t = 0
    while n > 0:
        t = t + 1
        n = n - 1
    wire(t)

def unsafe_match():
    x = lost['x']
    match ('go', x):
        case ('go', y): wire(y)
def safe_match():
    x = lost['x']
    match ('go', x):
        case (w, _): wire(w)

def unsafe_match_mapping():
    x = lost['x']
    match {'k': x, 'j': 'b'}:
        case {'k': v, 'j': w}: wire(v)
def safe_match_mapping():
    x = lost['x']
    match {'k': x, 'j': 'b'}:
        case {'k': v, 'j': w}: wire(w)

class P:
    __match_args__ = ('a', 'b')
    def __init__(self, a, b): self.a, self.b = a, b

def unsafe_match_class():
    x = lost['x']
    match P(x, 'b'):
        case P(v, w): wire(v)
def safe_match_class():
    x = lost['x']
    match P(x, 'b'):
        case P(v, w): wire(w)

def unsafe_fstring():
    x = lost['x']
    wire(f"a{x:>8}b")
def safe_fstring():
    x = lost['x']
    s = f"a{x:>8}b"
    wire(f"a{'c':>8}b")

def unsafe_percent_dict():
    x = lost['x']
    wire('%(a)s' % {'a': x})
def safe_percent_dict():
    x = lost['x']
    s = '%(a)s' % {'a': x}
    wire('%(a)s' % {'a': 'b'})

def unsafe_format_attr():
    x = lost['x']
    wire('{0.a}'.format(P(x, 'b')))
def safe_format_attr():
    x = lost['x']
    p = P(x, 'b')
    wire('{0.b}'.format(P('c', 'b')))

def unsafe_template():
    x = lost['x']
    wire(string.Template('$a-$b').substitute(a=x, b='c'))
def safe_template():
    x = lost['x']
    string.Template('$a-$b').substitute(a=x, b='c')
    wire(string.Template('$a-$b').substitute(a='d', b='c'))

def unsafe_join_gen():
    x = lost['x']
    wire('-'.join(s.upper() for s in [x, 'b']))
def safe_join_gen():
    x = lost['x']
    s = '-'.join(s.upper() for s in [x, 'b'])
    wire('-'.join(s.upper() for s in ['a', 'b']))

def unsafe_split_index():
    x = lost['x']
    wire((x + ',b').split(',')[0])
def safe_split_index():
    x = lost['x']
    a, b = x, 'p,q'.split(',')
    wire(b[0])

def unsafe_encode():
    x = lost['x']
    wire(x.encode().decode('ascii'))
def safe_encode():
    x = lost['x']
    x.encode()
    wire('x'.encode().decode())

def unsafe_int():
    s = lost['s']
    wire(int(s) * 2)
def safe_int():
    s = lost['s']
    wire(int('42') * 2)

def unsafe_len():
    x = lost['x']
    wire(len(x))
def safe_len():
    x = lost['x']
    wire(len('abc'))

def unsafe_chr_ord():
    x = lost['x']
    wire(chr(ord(x[0]) + 1))
def safe_chr_ord():
    x = lost['x']
    wire(chr(ord('a') + 1))

def unsafe_divmod():
    n = lost['n']
    q, r = divmod(n, 2)
    wire(r)
def safe_divmod():
    n = lost['n']
    q, r = divmod(9, 2)
    wire(r)

def unsafe_round():
    n = lost['n']
    wire(round(n / 3, 2) + math.sqrt(n))
def safe_round():
    n = lost['n']
    wire(round(7 / 3, 2) + math.sqrt(4))

def unsafe_compare():
    n = lost['n']
    wire(n == 7)
def safe_compare():
    n = lost['n']
    wire(7 == 7)

def unsafe_minmax():
    n = lost['n']
    wire(max(n, 3))
def safe_minmax():
    n = lost['n']
    wire(max(4, 3))

def unsafe_regex_group():
    x = lost['x']
    wire(re.match(r'(\w)(\w+)', x).group(2))
def safe_regex_group():
    x = lost['x']
    re.match(r'(\w)(\w+)', x)
    wire(re.match(r'(\w)(\w+)', 'abc').group(2))

def unsafe_regex_sub():
    x = lost['x']
    wire(re.sub('a', x, 'banana'))
def safe_regex_sub():
    x = lost['x']
    re.sub('a', x, 'banana')
    wire(re.sub('a', 'b', 'banana'))

def unsafe_regex_callback():
    x = lost['x']
    wire(re.sub('a', lambda m: m.group() + x, 'banana'))
def safe_regex_callback():
    x = lost['x']
    wire(re.sub('a', lambda m: m.group() + 'x', 'banana'))

def unsafe_finditer():
    x = lost['x']
    wire([m.group() for m in re.finditer(r'\w', x)])
def safe_finditer():
    x = lost['x']
    wire([m.group() for m in re.finditer(r'\w', 'abc')])

def unsafe_json_round():
    x = lost['x']
    wire(json.loads(json.dumps({'a': x}))['a'])
def safe_json_round():
    x = lost['x']
    json.dumps({'a': x})
    wire(json.loads(json.dumps({'a': 'b'}))['a'])

def unsafe_json_default():
    x = lost['x']
    wire(json.dumps({'a': P(x, 1)}, default=lambda o: o.a))
def safe_json_default():
    x = lost['x']
    p = P(x, 1)
    wire(json.dumps({'a': P('c', 1)}, default=lambda o: o.a))

def unsafe_base64():
    x = lost['x']
    wire(base64.b64decode(base64.b64encode(x.encode())))
def safe_base64():
    x = lost['x']
    base64.b64encode(x.encode())
    wire(base64.b64decode(base64.b64encode(b'abc')))

def unsafe_hash():
    x = lost['x']
    h = hashlib.sha256()
    h.update(x.encode())
    wire(h.hexdigest())
def safe_hash():
    x = lost['x']
    g = hashlib.sha256(x.encode())
    h = hashlib.sha256(b'a')
    wire(h.hexdigest())

def unsafe_zlib():
    x = lost['x']
    wire(zlib.decompress(zlib.compress(x.encode())))
def safe_zlib():
    x = lost['x']
    zlib.compress(x.encode())
    wire(zlib.crc32(b'abc'))

def unsafe_struct():
    n = lost['n']
    wire(struct.unpack('<ii', struct.pack('<ii', n, 2))[0])
def safe_struct():
    n = lost['n']
    struct.pack('<ii', n, 2)
    wire(struct.unpack('<ii', struct.pack('<ii', 1, 2))[0])

def unsafe_datetime():
    n = lost['n']
    d = datetime.date(2020, 1, 1) + datetime.timedelta(days=n)
    wire(d.isoformat())
def safe_datetime():
    n = lost['n']
    d = datetime.date(2020, 1, 1) + datetime.timedelta(days=n)
    wire(datetime.date(2020, 1, 2).isoformat())

def unsafe_datetime_field():
    n = lost['n']
    wire(datetime.datetime(2020, 1, n).day)
def safe_datetime_field():
    n = lost['n']
    d = datetime.datetime(2020, 1, n)
    wire(datetime.datetime(2020, 1, 3).day)

def unsafe_decimal():
    s = lost['s']
    wire(str(decimal.Decimal(s) * 2))
def safe_decimal():
    s = lost['s']
    decimal.Decimal(s)
    wire(str(decimal.Decimal('3') * 2))

def unsafe_fraction():
    n = lost['n']
    wire(fractions.Fraction(n, 3).numerator)
def safe_fraction():
    n = lost['n']
    f = fractions.Fraction(n, 3)
    wire(fractions.Fraction(2, 3).numerator)

def unsafe_textwrap():
    x = lost['x']
    wire(textwrap.fill('some words and ' + x, 10))
def safe_textwrap():
    x = lost['x']
    textwrap.fill('some words and ' + x, 10)
    wire(textwrap.fill('some words and more', 10))

def unsafe_urlparse():
    x = lost['x']
    wire(urllib.parse.urlsplit('http://h/' + x).path)
def safe_urlparse():
    x = lost['x']
    urllib.parse.urlsplit('http://h/' + x)
    wire(urllib.parse.urlsplit('http://h/abc').path)

def unsafe_quote():
    x = lost['x']
    wire(urllib.parse.urlencode({'q': x}))
def safe_quote():
    x = lost['x']
    urllib.parse.urlencode({'q': x})
    wire(urllib.parse.urlencode({'q': 'abc'}))

def unsafe_html_shlex():
    x = lost['x']
    wire(html.escape('<' + x) + shlex.quote(x))
def safe_html_shlex():
    x = lost['x']
    html.escape('<' + x)
    wire(html.escape('<a'))

def unsafe_pathlib():
    x = lost['x']
    wire(str(pathlib.PurePath('/tmp') / x / 'b'))
def safe_pathlib():
    x = lost['x']
    p = pathlib.PurePath('/tmp') / x
    wire(str(pathlib.PurePath('/tmp') / 'c'))

def unsafe_pathlib_parent():
    x = lost['x']
    wire((pathlib.PurePath(x) / 'b').parent.name)
def safe_pathlib_parent():
    x = lost['x']
    p = pathlib.PurePath(x) / 'b'
    wire((pathlib.PurePath('a') / 'b').parent.name)

def unsafe_ospath():
    x = lost['x']
    wire(os.path.join('/tmp', os.path.basename(x)))
def safe_ospath():
    x = lost['x']
    os.path.join('/tmp', x)
    wire(os.path.join('/tmp', 'y'))

class Color(enum.Enum):
    RED = 'red'
    HOT = 'hot'

def unsafe_enum():
    x = lost['x']
    wire(Color(x).value)
def safe_enum():
    x = lost['x']
    Color(x)
    wire(Color('red').value)

def unsafe_uuid():
    x = lost['x']
    wire(uuid.uuid5(uuid.NAMESPACE_DNS, x))
def safe_uuid():
    x = lost['x']
    uuid.uuid5(uuid.NAMESPACE_DNS, x)
    wire(uuid.uuid5(uuid.NAMESPACE_DNS, 'abc'))

def unsafe_statistics():
    n = lost['n']
    wire(statistics.mean([n, 2, 3]))
def safe_statistics():
    n = lost['n']
    statistics.mean([n, 2, 3])
    wire(statistics.mean([1, 2, 3]))

def unsafe_translate():
    x = lost['x']
    wire('abc'.translate(str.maketrans({'a': x})))
def safe_translate():
    x = lost['x']
    t = str.maketrans({'a': x})
    wire('abc'.translate(str.maketrans({'a': 'b'})))

def unsafe_codecs():
    x = lost['x']
    wire(codecs.encode(x, 'rot13'))
def safe_codecs():
    x = lost['x']
    codecs.encode(x, 'rot13')
    wire(codecs.encode('a', 'rot13'))

def unsafe_unicode():
    x = lost['x']
    wire(unicodedata.normalize('NFC', x))
def safe_unicode():
    x = lost['x']
    unicodedata.normalize('NFC', x)
    wire(unicodedata.normalize('NFC', 'x'))
