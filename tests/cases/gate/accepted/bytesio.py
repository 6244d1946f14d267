# accepted
# a stream in memory
import io
stream = io.BytesIO(body)
