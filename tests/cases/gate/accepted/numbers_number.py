# accepted
# an abstract class to ask about
import numbers
ok = isinstance(value, (numbers.Number, str))
