# accepted
# an identifier
import uuid
key = uuid.UUID(text)
