"""Makes `python benchmarks/x.py` import what `python -m benchmarks.x` imports.

Run as a file, a benchmark has this folder on Python's path, and `benchmarks` is this module: it acts
as the package, and adds the folder above, where `tests` is. Run with ``-m`` from there, `benchmarks`
is the folder itself and nothing imports this module.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
__path__ = [str(HERE)]
sys.path.insert(0, str(HERE.parent))
