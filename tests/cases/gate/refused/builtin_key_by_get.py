# refused: HC110 dangerous
# internals by a method
namespace.get('__builtins__')
