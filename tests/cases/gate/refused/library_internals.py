# refused: HC110 dangerous
# internals of a class of the library
from http import HTTPStatus
HTTPStatus._member_map_.clear()
