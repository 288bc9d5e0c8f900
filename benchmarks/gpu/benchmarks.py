"""Makes `python benchmarks/gpu/x.py` import what `python -m benchmarks.gpu.x` imports.

Run as a file, a benchmark has this folder on Python's path: this module acts as the package of the
folder above, and adds the folder above that, where `tests` is.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parents[1]
__path__ = [str(HERE)]
sys.path.insert(0, str(HERE.parent))
