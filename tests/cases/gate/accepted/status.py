# accepted
# a number of the protocol
from http import HTTPStatus
code = HTTPStatus.NOT_FOUND.value
