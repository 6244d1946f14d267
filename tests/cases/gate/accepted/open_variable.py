# accepted
# a share's price
open = row.get('open', 0.0)
