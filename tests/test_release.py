"""What a release says of itself: one version, the bounds that are tested, what is vendored."""

import ast
import hashlib
import json
import re
import tomllib
from pathlib import Path

import pytest

from dalembert.version import __version__, deprecated

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "dalembert"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
USERS = ("view", "mjcf", "casadi", "gpu", "jax", "torch", "parquet", "notebook", "sweep")
pytest.importorskip("yaml")


def number(text):
    """A version as numbers; 2.0 is 2.0.0."""
    parts = [int(part) for part in text.split(".")]
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def bounds():
    """The least version of each package that users get, by its name."""
    project = PROJECT["project"]
    listed = [*project["dependencies"]]
    for extra in USERS:
        listed += project["optional-dependencies"][extra]
    matches = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", text) for text in listed)
    return {one[1]: number(one[2]) for one in matches}


def test_the_lowest_versions_are_those_that_are_tested():
    lines = (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert {name: number(version) for name, version in pins.items()} == bounds()


def test_the_conda_recipe_has_the_requirements_of_the_project():
    import yaml

    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text(encoding="utf-8"))
    project = PROJECT["project"]
    required = [f"python{project['requires-python']}", *project["dependencies"]]
    assert [text.replace(" ", "") for text in recipe["requirements"]["run"]] == required
    assert recipe["about"]["summary"] == project["description"]
    assert recipe["context"]["version"] == __version__


def test_the_version_is_written_once():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/dalembert/version.py"
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited[1] == __version__  # like the recipe's, which no tool fills in


def test_pythons_of_the_matrix_are_those_that_are_claimed():
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    values = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    pythons = list(ast.literal_eval(values["NUMPYS"]))
    claimed = [
        text.rpartition(" ")[2]
        for text in PROJECT["project"]["classifiers"]
        if text.startswith("Programming Language :: Python :: 3.")
    ]
    assert pythons == claimed
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    assert [python for python in pythons if f"| {python}" not in page] == []


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".gitlab-ci.yml", "CITATION.cff"])
def test_descriptions_for_hosts_can_be_read(name):
    import yaml

    document = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    if name != "CITATION.cff":
        assert ".ci/run" in str(document)
        assert "nox" in str(document)


def test_all_that_is_vendored_is_listed_with_its_licence():
    listed = json.loads((ROOT / "sbom.cdx.json").read_text(encoding="utf-8"))["components"]
    files = {
        one["name"]: one["hashes"][0]["content"] for part in listed for one in part["components"]
    }
    for name, digest in files.items():
        assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == digest, name
    own = {"README.md", "three.entry.js"}
    there = {
        path.relative_to(ROOT).as_posix()
        for path in SOURCES.glob("**/vendor/*")
        if path.name not in own
    }
    assert there == set(files)
    for part in listed:
        assert part["licenses"][0]["license"]["id"] in ("MIT", "OFL-1.1")
        assert any(one["name"].endswith(".LICENSE") for one in part["components"])


def test_nothing_deprecated_outlives_its_version():
    overdue = []
    for path in SOURCES.glob("**/*.py"):
        text = path.read_text(encoding="utf-8")
        if path.name != "version.py" and "DeprecationWarning" in text:
            overdue.append(f"{path.name} warns without version.deprecated")
        for gone in re.findall(r'deprecated\([^)]*gone="([\d.]+)"', text):
            if number(gone) <= number(__version__):
                overdue.append(f"{path.name}: to be gone with {gone}")
    assert overdue == []


def test_a_deprecation_names_what_to_do_and_when_it_ends():
    def old():
        deprecated("old is now new", gone="9.9.0")

    with pytest.warns(DeprecationWarning, match="old is now new; the old way ends with") as caught:
        old()
    assert caught[0].filename == __file__
