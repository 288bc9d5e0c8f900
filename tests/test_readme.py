"""The code of the README runs, in order, and the files it points to exist."""

import re
from pathlib import Path

import dalembert as dl

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_code_blocks_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert names["tau"].shape == (1_000_000, 6)
    assert names["h"].shape == (1000, 500, 6)
    assert names["static"].shape == (100, 2)
    assert names["M"].shape == (1000, 6, 6)
    assert "multiplications" in capsys.readouterr().out
    assert (tmp_path / "run.html").stat().st_size > 500_000


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert "docs/images/motion.gif" in links
    files = [link for link in links if "://" not in link]
    assert set(re.findall(r"\]\[([\w-]+)\]", TEXT)) <= set(
        re.findall(r"^\[([\w-]+)\]:", TEXT, re.M)
    )
    missing = [link for link in files if not (README.parent / link).exists()]
    assert not missing


def test_pictures_are_small():
    for picture in (README.parent / "docs/images").iterdir():
        assert picture.stat().st_size < (2_000_000 if picture.suffix == ".gif" else 300_000)


def test_it_is_short():
    assert len(TEXT.splitlines()) <= 150


def test_commands_of_the_shell_block_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from typer.testing import CliRunner

    from dalembert.cli.app import app

    lines = re.findall(r"^    dalembert (.+?)(?:\s+#.*)?$", TEXT, flags=re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        result = CliRunner().invoke(app, line.split())
        assert result.exit_code == 0, (line, result.output)


def test_the_zoo_has_so_many():
    from dalembert import zoo

    others = (*zoo.systems(), *zoo.mechanisms(), *zoo.bodies())
    assert f"{len(zoo.names())} robots and {len(others)} other systems in the zoo" in TEXT


def test_counts_of_formulations_are_those_of_the_catalogue():
    words = {5: "five", 7: "seven", 13: "thirteen"}
    quantities = ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    inverse, forward, mass = (len(dl.formulations(name)) for name in quantities)
    listed = f"inverse by {words[inverse]} formulations, forward by {words[forward]}, "
    assert listed + f"mass matrix by {words[mass]};" in TEXT
    assert f"| inverse dynamics | {inverse} formulations |" in TEXT
