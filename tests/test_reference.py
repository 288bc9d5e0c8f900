"""The reference names all there is, and cites documents by author and title."""

import inspect
import re
from importlib import import_module
from pathlib import Path

from dalembert import formulations, references
from dalembert.cli.app import app
from dalembert.constraints.catalogue import QUANTITIES as CONSTRAINED
from dalembert.mechanisms.motions import MOTIONS
from dalembert.simulation import simulate
from dalembert.simulation.methods import METHODS
from dalembert.systems.bodies.planar import JOINTS as PLANAR_JOINTS
from dalembert.systems.bodies.spatial import JOINTS as SPATIAL_JOINTS
from dalembert.systems.euler_lagrange import PARTICLES
from dalembert.zoo.two_bar import SCENARIOS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def documented():
    """Last parts of the names that the reference's directives show, members of modules included."""
    names: set[str] = set()
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        for kind, target in re.findall(r"^\.\. (?:auto|py:)(\w+):: ([\w.]+)", text, re.MULTILINE):
            names.add(target.rpartition(".")[2])
            if kind == "module":
                module = import_module(target)
                names |= set(getattr(module, "__all__", None) or vars(module))
    return names


def test_every_public_name_is_in_the_reference():
    import dalembert as dl

    assert sorted(set(dl.__all__) - documented()) == []
    more = {"growth_vector", "read_mechanism", "scenario", *SCENARIOS}
    assert sorted(more - documented()) == []


def public_functions():
    """(name, function) of the public functions, and of the methods that the reference shows."""
    directive = r"^\.\. auto(class|function):: (dalembert\.\w+)\n((?:   :.*\n)*)"
    for page in (DOCS / "reference").glob("*.md"):
        for kind, target, options in re.findall(directive, page.read_text("utf-8"), re.MULTILINE):
            target_object = getattr(import_module("dalembert"), target.rpartition(".")[2])
            if kind == "function":
                yield target, target_object
            elif ":members:" in options:
                listed = re.search(r":members: (\w+)", options)
                names = listed[1].split() if listed else dir(target_object)
                yield from (
                    (f"{target}.{x}", getattr(target_object, x)) for x in names if x[0] != "_"
                )


def test_public_functions_have_parameters_and_returns():
    checked, missing = 0, []
    for name, function in public_functions():
        if not (inspect.isfunction(function) or inspect.ismethod(function)):
            continue
        if not function.__module__.startswith("dalembert"):
            continue
        doc, signature = inspect.getdoc(function) or "", inspect.signature(function)
        checked += 1
        if {*signature.parameters} - {"self", "cls"} and "Parameters\n---" not in doc:
            missing.append(f"{name}: Parameters")
        returned = signature.return_annotation
        if (
            returned not in (None, "None", "NoReturn", inspect.Signature.empty)
            and "Returns\n---" not in doc
        ):
            missing.append(f"{name}: Returns")
    assert checked > 300
    assert missing == []


def test_every_command_is_in_the_reference():
    page = (DOCS / "reference" / "command_line.md").read_text(encoding="utf-8")
    commands = [c.name or c.callback.__name__ for c in app.registered_commands]
    assert [name for name in commands if f"| `dalembert {name}" not in page] == []


def test_joint_types_and_motions_of_files_are_in_the_reference():
    page = (DOCS / "reference" / "mechanisms.md").read_text(encoding="utf-8")
    section = page.partition("Joint types in the plane")[2].partition("Unknown keys")[0]
    known = {*PLANAR_JOINTS, *SPATIAL_JOINTS, *MOTIONS}
    assert set(re.findall(r"`(\w+)`", section)) == known


def test_sources_are_cited_by_author_and_title():
    """Numbers of documents are for docstrings; catalogues, pages and the reference say titles."""
    theory = (DOCS / "theory" / "index.md").read_text(encoding="utf-8")
    assert [d.short for d in references.DOCUMENTS.values() if f"| {d.short} |" not in theory] == []
    catalogues = (*formulations.QUANTITIES.values(), *PARTICLES.values(), *CONSTRAINED)
    citations = [
        formulation.citation for quantity in catalogues for formulation in quantity.formulations
    ]
    assert [text for text in citations if references.with_titles(text) != text] == []
    assert any("Li, Manipulator Dynamics p.56" in text for text in citations)


def test_every_method_is_named_where_it_is_chosen():
    assert [name for name in METHODS if f'"{name}"' not in simulate.__doc__] == []


def test_files_that_pages_name_exist():
    pages = [*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    text = "".join(p.read_text(encoding="utf-8") for p in pages if "_build" not in p.parts)
    named = set(re.findall(r"`([\w/]+/\w+\.(?:py|md))`", text))
    folders = (ROOT, ROOT / "src", ROOT / "src" / "dalembert")
    assert len(named) > 10
    assert [name for name in sorted(named) if not any((p / name).exists() for p in folders)] == []
