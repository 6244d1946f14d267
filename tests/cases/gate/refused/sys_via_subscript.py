# refused: HC110 dangerous
# internals out of a namespace dictionary
namespace['__builtins__']['open']('x', 'w')
