"""The list of mutations that `tools/mutations.py` makes fits the code."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from mutations import read_mutations  # noqa: E402


def test_every_mutation_changes_its_file_and_has_tests():
    mutations = read_mutations([])
    assert len({m.name for m in mutations}) == len(mutations) >= 27
    for mutation in mutations:
        text = (ROOT / "src" / "dalembert" / mutation.file).read_text(encoding="utf-8")
        assert mutation.applied(text) != text
        assert mutation.tests and all((ROOT / test).exists() for test in mutation.tests)
