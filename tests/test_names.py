"""Somebody else's text is only text: hostile names into every output that we write."""

import json
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

import dalembert as dl
from dalembert.cli import output
from dalembert.cli.app import app
from dalembert.cli.options import complain
from dalembert.cli.robots import show_facts
from dalembert.errors import ImportFileError, ModelError
from dalembert.mechanisms.file import read_mechanism
from dalembert.report.facts import describe
from dalembert.report.page import robot_page
from dalembert.report.runs import open_run, run_page
from dalembert.systems.export import export
from dalembert.text import c_identifier, file_name, is_plain, latex, visible
from dalembert.zoo.symbolic_models import with_symbols
from tests.fuzz.names import HOSTILE
from tests.fuzz.outputs import HARMLESS_LATEX, Tags, code, robot, small_page

PRINTABLE = [name for name in HOSTILE if is_plain(name)]  # the others are refused
NAMED = [name for name in PRINTABLE if name]
NO_CHECKS = ((), ())  # of formulations against each other: no name is in their table


def test_names_that_nothing_can_show_are_refused_everywhere():
    particle = dl.load("pendulum_constrained").system
    rod = dl.Holonomic(lambda q: 0.5 * (q @ q - 1.0), name="rod")
    for name in set(HOSTILE) - set(PRINTABLE):
        with pytest.raises(ModelError, match="control characters"):
            robot(name)
        with pytest.raises(ModelError, match="control characters"):
            dl.Constrained(particle, [rod], guess=[0.0, -1.0], name=name)


@pytest.mark.parametrize("target", ["c", "h", "cuda"])
def test_a_name_never_leaves_the_comment_of_a_source(target):
    plain = code(robot("plain").source("bias", target), "dalembert_plain_bias")
    for name in PRINTABLE:
        text = robot(name).source("bias", target)
        assert code(text, c_identifier(f"dalembert_{name}_bias")) == plain, name


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler here")
def test_exported_sources_of_hostile_names_compile_without_a_warning(tmp_path):
    strict = [
        "gcc",
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wcomment",
        "-c",
        "-o",
        "/dev/null",
    ]
    for name in (*PRINTABLE[:4], "line one\\", "??/"):
        (file, _) = export(robot(name), "bias", "c", tmp_path)
        subprocess.run([*strict, str(file)], check=True)


def test_exports_stay_in_their_folder_and_apart(tmp_path):
    folder = tmp_path / "a" / "out"
    written = [path for name in PRINTABLE for path in export(robot(name), "bias", "c", folder)]
    assert len(set(written)) == len(written) == 2 * len(PRINTABLE)
    assert {path.parent for path in written} == {folder}
    inside = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert inside == set(written)
    (path,) = export(robot("../../x"), "bias", "cuda", folder)
    assert path.parent == folder and path.exists()


def test_exports_to_casadi_stay_in_their_folder(casadi, tmp_path):
    (path,) = export(robot("../../x"), "bias", "casadi", tmp_path / "out")
    assert path.parent == tmp_path / "out" and path.exists()


def test_names_with_a_dot_do_not_overwrite_each_other(tmp_path):
    first, second = (export(robot(f"arm.v{k}"), "bias", "c", tmp_path)[0] for k in (1, 2))
    assert first != second and "arm.v1" in first.read_text()


def test_file_names_are_names():
    for name in HOSTILE:
        result = file_name(name)
        assert Path(result).name == result and not result.startswith((".", " ")), name
        assert re.fullmatch(r"[0-9a-zA-Z_+ .-]{1,100}", result), name
    assert len({file_name(name) for name in HOSTILE}) == len(HOSTILE)


def test_a_name_in_a_latex_document_is_no_command():
    equations = with_symbols(robot("plain")).equations(["g"], simplify="fast")
    for name in HOSTILE:
        assert HARMLESS_LATEX.fullmatch(latex(name)), name
        document = equations.latex_document(f"Equations of {name}")
        assert f"\\title{{Equations of {latex(name)}}}" in document


def test_pages_have_the_same_elements_whatever_the_names():
    plain = small_page("plain")
    for name in HOSTILE:
        page = small_page(name)
        assert page.tags == plain.tags, name
        assert json.loads(page.data)["charts"][0]["title"] == name


@pytest.fixture(scope="module")
def plain_page():
    return Tags(robot_page(robot("plain"), checks=NO_CHECKS))


@pytest.mark.parametrize("name", ["<!--<script>", "out", "arm/left", "ur5"])
def test_the_page_of_a_robot_with_a_hostile_name(name, plain_page):
    page = Tags(robot_page(robot(name), checks=NO_CHECKS))
    assert page.tags == plain_page.tags
    assert name in page.words and "Universal Robots" not in " ".join(page.words)
    assert json.loads(page.data)["scene"]["bodies"] == [f"l{name}"]


def test_the_notebook_table_has_the_same_elements_whatever_the_names():
    plain = Tags(robot("plain")._repr_html_()).tags
    for name in PRINTABLE:
        assert Tags(robot(name)._repr_html_()).tags == plain, name


def test_console_tables_show_names_as_they_are():
    for name in PRINTABLE:
        screen = Console(file=StringIO(), width=9000, highlight=False, emoji=False)
        show_facts(screen, describe(robot(name)))
        output.show_table(screen, name, (name,), [(name,)])
        text = screen.file.getvalue()
        assert f"j{visible(name)}".rstrip() in text, name
        assert "\x1b" not in text


def test_messages_of_the_command_obey_no_terminal_codes(capsys):
    complain("no such joint: \x1b[2J[/] \u202e")
    assert capsys.readouterr().err == "error: no such joint: \\x1b[2J[/] \\u202e\n"


@pytest.mark.parametrize("target", ["urdf", "mjcf"])
def test_robot_files_hold_names_or_refuse_them(target):
    written = 0
    for name in PRINTABLE:
        result = robot(name)
        try:
            text = result.to_urdf() if target == "urdf" else result.to_mjcf()
        except ModelError as error:
            assert name != name.strip() or "%" in name, error
            continue
        try:
            again = dl.Robot.from_urdf(text) if target == "urdf" else dl.Robot.from_mjcf(text)
        except ImportFileError as error:
            assert len(name) > 1000, error  # MuJoCo's own limit
            continue
        assert again.name == (name or "robot")
        assert again.joints[0].name == f"j{name}"
        written += 1
    assert written > 25


@pytest.mark.parametrize("ending", ["nc", "zarr"])
def test_runs_keep_the_names_of_their_systems(ending, tmp_path):
    run = dl.simulate(robot("plain"), [0.1], [0.0], duration=0.02, dt=0.01, method="rk4")
    for number, name in enumerate(PRINTABLE[:: 4 if ending == "zarr" else 2]):
        path = tmp_path / f"{number}.{ending}"
        named = run.assign_attrs(system=name, model="").assign_coords(joint=[f"j{name}"])
        if ending == "nc":
            named.to_netcdf(path, engine="h5netcdf")
        else:
            named.to_zarr(path, zarr_format=2)
        again = open_run(path)
        assert again.attrs["system"] == name and again.joint.values.tolist() == [f"j{name}"]
        assert json.loads(Tags(run_page(again)).data)["scene"] is None


def test_a_run_never_opens_the_file_that_its_system_names(tmp_path):
    trap = tmp_path / "trap.urdf"
    trap.write_text(robot("trap").to_urdf())
    run = dl.simulate(robot("plain"), [0.1], [0.0], duration=0.02, dt=0.01, method="rk4")
    assert '"scene":null' in run_page(run.assign_attrs(system=str(trap), model=""))


def test_pictures_of_a_mechanism_stay_in_their_folder(tmp_path):
    text = """
name = "../../escaped"
[[body]]
name = "bob"
mass = 1.0
inertia = 0.1
at = [1.0, 0.0]
"""
    (tmp_path / "m.toml").write_text(text)
    out = tmp_path / "deep" / "out"
    words = [
        "mechanism",
        str(tmp_path / "m.toml"),
        "--simulate",
        "0.1",
        "--plot",
        "--out",
        str(out),
    ]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert [path.parent for path in tmp_path.rglob("*.png")] == [out]


def test_figures_take_names_for_words():
    run = dl.simulate(robot("plain"), [0.1], [0.0], duration=0.02, dt=0.01, method="rk4")
    for name, escaped in (("$\\frac$", r"\$/frac\$"), ("_under", " _under"), ("50% #", "50% #")):
        figure = run.assign_coords(joint=[name]).dl.plot(["q"])
        figure.canvas.draw()
        assert figure.axes[0].get_legend().get_texts()[0].get_text() == escaped


def test_mechanisms_of_any_name_are_read_or_refused():
    for name in HOSTILE:
        escaped = "\ud800" in name or "\x00" in name
        quoted = json.dumps(name, ensure_ascii=escaped).replace("\x7f", "\\u007f")
        try:
            assert read_mechanism(f"name = {quoted}\n").name == name
        except ImportFileError:
            assert not is_plain(name)
