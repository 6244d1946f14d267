# accepted
# an annotated variable
from typing import Dict, List
rows: Dict[str, List[int]] = {}
