"""Text, LaTeX and pages of equations."""

import os
import re
import subprocess
import xml.etree.ElementTree as ET

import pytest
import sympy

from dalembert.symbolic.layout import angles
from dalembert.symbolic.notation import Latex, MathML, Text, parts
from dalembert.symbolic.printer import Printer
from dalembert.zoo.symbolic_models import symbolic_model
from tests.browser import executable

THETA1, THETA2, RATE1 = sympy.symbols("theta1 theta2 dtheta1")
RATES = {RATE1: THETA1, sympy.Symbol("dtheta2"): THETA2}
M, L, R = sympy.symbols("m1 l1 r2")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--hide-scrollbars", "--disable-background-networking", "--disable-component-update"),
    "--disable-sync",
)


@pytest.fixture(scope="module")
def elbow():
    return symbolic_model("elbow_3r").equations(["M", "C", "g", "Gamma", "K", "U"])


def printer(marks, short=False):
    return Printer(marks, RATES, first=[M], short=short)


EXAMPLES = {
    M * L**2 * RATE1: ("m₁ l₁² θ̇₁", r"m_{1} l_{1}^{2} \dot{\theta}_{1}"),
    M * (L + R) ** 2 / 2: ("½ m₁ (l₁ + r₂)²", r"\tfrac{1}{2} m_{1} (l_{1} + r_{2})^{2}"),
    -L * sympy.cos(THETA1): ("−l₁ cos θ₁", r"-l_{1} \cos \theta_{1}"),
    sympy.sin(THETA1 + THETA2) ** 2: ("sin²(θ₁ + θ₂)", r"\sin^{2}(\theta_{1} + \theta_{2})"),
    R - L: ("r₂ − l₁", "r_{2} - l_{1}"),
    M / (L + R): ("m₁/(l₁ + r₂)", r"\frac{m_{1}}{l_{1} + r_{2}}"),
    (L + M) / R: ("(l₁ + m₁)/r₂", r"\frac{l_{1} + m_{1}}{r_{2}}"),
    sympy.sqrt(L): ("√(l₁)", r"\sqrt{l_{1}}"),
    sympy.Float(9.81) * M: ("9.81 m₁", "9.81 m_{1}"),
    sympy.Float(2.5e-7): ("2.5e-07", r"2.5 \cdot 10^{-7}"),
    sympy.Integer(0): ("0", "0"),
    sympy.Symbol("crank") * sympy.Symbol("rod") ** 2: (
        "crank rod²",
        r"\mathrm{crank} \, \mathrm{rod}^{2}",
    ),
}


@pytest.mark.parametrize("expression", EXAMPLES)
def test_expressions(expression):
    text, latex = EXAMPLES[expression]
    assert printer(Text()).expression(expression) == text
    assert printer(Latex()).expression(expression) == latex


def test_short_sines():
    e = sympy.cos(THETA1 + THETA2) ** 2 * sympy.sin(THETA2)
    assert printer(Text(), short=True).expression(e) == "c₁₂² s₂"
    assert printer(Latex(), short=True).expression(e) == "c_{12}^{2} s_{2}"
    difference = sympy.cos(THETA1 - THETA2)
    assert printer(Text(), short=True).expression(difference) == "cos(θ₁ − θ₂)"


@pytest.mark.parametrize("expression", EXAMPLES)
def test_mathml_is_well_formed(expression):
    body = printer(MathML()).expression(expression)
    tree = ET.fromstring(f"<math>{body}</math>")
    assert len(list(tree.iter())) > 1


def test_angles_have_the_same_order_in_every_process(elbow):
    """Pages list them, and a page of the same robot has the same bytes."""
    names = list(angles(elbow, ["M"]))
    assert names == sorted(names) and len(names) > 3


def test_names():
    assert parts("Ixx12") == ("I", "xx12")
    assert Latex().name("payload2") == r"\mathrm{payload}_{2}"
    assert Text().name("omega3") == "ω₃"


def test_text_of_a_robot(elbow):
    lines = elbow.text().splitlines()
    assert "M₂₃ = M₃₂ = Ix₃ + m₃ r₂² + m₃ l₁ r₂ c₃" in lines
    assert "Γ₁₁₃ = Γ₁₃₁ = (Iy₃ − Iz₃) c₂₃ s₂₃ − m₃ r₂ (l₁ c₂ + r₂ c₂₃) s₂₃" in lines
    assert "c₂₃ = cos(θ₂ + θ₃)" in lines
    assert max(map(len, lines)) <= 112
    assert elbow.text("U").splitlines()[0] == "Potential energy"


def test_matrices_are_aligned():
    """The bars of the brackets stand in one column; combining dots take no column."""
    rows = symbolic_model("planar_2r").equations(["C"]).text("C").splitlines()[1:3]
    ends = {len(row) - row.count("\u0307") for row in rows}
    assert len(ends) == 1


def test_latex_of_a_robot(elbow):
    code = elbow.latex("M")
    assert r"m_{3} (l_{1} c_{2} + r_{2} c_{23})^{2}" in code
    assert code.startswith("\\begin{aligned}") and code.endswith("\\end{aligned}")
    assert code.count("{") == code.count("}")
    assert elbow._repr_latex_().startswith("$\\displaystyle \\begin{aligned}")
    document = elbow.latex_document("elbow_3r")
    assert "\\title{elbow\\_3r}" in document
    assert document.count("\\begin{align*}") == len(elbow.quantities) + 1


def test_page_is_self_contained(elbow):
    page = elbow.html("Elbow <3>")
    assert "<title>Elbow &lt;3&gt;</title>" in page
    assert not re.search(r"https?://|<script|<link|@import", page)
    for formula in re.findall(r"<math.*?</math>", page, flags=re.S):
        ET.fromstring(formula.replace("&#x2062;", "\u2062"))


MEASURE = """
<script>
const wide = document.documentElement.scrollWidth > window.innerWidth + 1;
const boxes = [...document.querySelectorAll(".box")].filter(b => b.scrollWidth > b.clientWidth + 1);
const drawn = [...document.querySelectorAll("math")].filter(m => {
  const r = m.getBoundingClientRect(); return r.width > 10 && r.height > 10; });
const raised = [...document.querySelectorAll("msubsup")].filter(m => {
  const [base, low, high] = [...m.children].map(c => c.getBoundingClientRect());
  return high.top < low.top && low.left >= base.left; });
document.title = JSON.stringify([wide, boxes.length, drawn.length,
  document.querySelectorAll("math").length, raised.length,
  document.querySelectorAll("msubsup").length]);
</script>
"""


def run_browser(tmp_path, *arguments):
    profile = tmp_path / "profile"
    command = [executable(), *FLAGS, f"--user-data-dir={profile}", *arguments]
    environment = {**os.environ, "HOME": str(tmp_path)}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=True, env=environment
    ).stdout


def test_a_browser_draws_the_mathematics(tmp_path, elbow):
    """Every formula has a size, exponents stand above indices, and nothing is wider than its box."""
    file = tmp_path / "elbow.html"
    file.write_text(elbow.html().replace("</body>", MEASURE + "</body>"), encoding="utf-8")
    observed = run_browser(tmp_path, "--window-size=1100,1600", "--dump-dom", file.as_uri())
    title = re.search(r"<title>\[(.*?)\]</title>", observed)
    wide, overflowing, drawn, formulas, raised, powers = title[1].split(",")
    assert wide == "false" and overflowing == "0"
    assert drawn == formulas and int(formulas) == len(elbow.quantities) + 2
    assert raised == powers and int(powers) > 10


def test_a_screenshot_has_ink(tmp_path, elbow):
    """The picture is not blank: dark strokes on light paper, in every fifth of the page."""
    image = pytest.importorskip("matplotlib.image")
    file, picture = tmp_path / "elbow.html", tmp_path / "elbow.png"
    file.write_text(elbow.html(), encoding="utf-8")
    run_browser(tmp_path, "--window-size=1100,1600", f"--screenshot={picture}", file.as_uri())
    gray = image.imread(picture)[..., :3].mean(axis=2)
    assert gray.shape == (1600, 1100)
    for part in range(5):
        ink = (gray[320 * part : 320 * (part + 1)] < 0.4).mean()
        assert 0.002 < ink < 0.2


@pytest.mark.parametrize(
    ("name", "text", "latex", "mathml"),
    [
        ("m_tip", "mₜᵢₚ", r"m_{\mathrm{tip}}", "<mi>m</mi><mrow><mi>tip</mi></mrow>"),
        ("m_cart", "m_cart", r"m_{\mathrm{cart}}", "<mi>m</mi><mrow><mi>cart</mi></mrow>"),
        ("tau_theta", "τ_θ", r"\tau_{\theta}", "<mi>τ</mi><mrow><mi>θ</mi></mrow>"),
        ("l_upper_arm2", "l_upper_arm₂", r"l_{\mathrm{upper}\,\mathrm{arm}2}", "<mn>2</mn>"),
        ("Iz1", "Iz₁", "I_{z1}", "<mi>I</mi><mrow><mi>z</mi><mn>1</mn></mrow>"),
        ("payload", "payload", r"\mathrm{payload}", "<mi>payload</mi>"),
        ("load_x", "load_x", r"\mathrm{load}_{x}", "<mi>load</mi><mrow><mi>x</mi></mrow>"),
        ("pin", "pin", r"\mathrm{pin}", "<mi>pin</mi>"),
        ("number", "number", r"\mathrm{number}", "<mi>number</mi>"),
        ("μ_1", "μ₁", r"\mu_{1}", "<mi>μ</mi><mrow><mn>1</mn></mrow>"),
        ("M_1_12", "M₁,₁₂", "M_{1,12}", "<mn>,</mn>"),
        ("a_b-c", "a_b-c", r"\mathrm{a\_b-c}", "<mi>a_b-c</mi>"),
    ],
)
def test_names_of_several_characters(name, text, latex, mathml):
    """A word after an underscore is an index; a word that begins like a Greek name is a word."""
    assert Text().name(name) == text
    assert Latex().name(name) == latex
    assert mathml in MathML().name(name)


def test_no_line_ends_inside_a_fraction():
    """A long sum over a denominator stands behind the fraction: braces are closed on every line."""
    symbols = sympy.symbols("a1:30")
    e = M * sum(symbols) / (L + R)
    for marks in (Text(), Latex(), MathML()):
        lines = printer(marks).lines(e, 60)
        assert len(lines) > 2
        for line in lines:
            assert line.count("{") == line.count("}")
            assert line.count("<mrow>") == line.count("</mrow>")
            assert line.count("<mfrac>") == line.count("</mfrac>")
