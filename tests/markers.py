"""What `make quick` leaves out, by name: a file, or one test of it; `make test` runs everything.

`slow` is measured (`slow_tests.txt`), `process` starts or kills processes, `browser` opens pages in a
Chromium, and `gpu_text` compiles CUDA or C text with the compilers of the machine.
"""

from pathlib import Path

SLOW = Path(__file__).with_name("slow_tests.txt").read_text(encoding="utf-8").split("\n")
MARKED = {
    "slow": ("fuzz/", *(line for line in SLOW if line and not line.startswith("#"))),
    "process": (
        "sweeps/test_cluster.py",
        "sweeps/test_sweep.py::test_a_driver",
        "sweeps/test_sweep.py::test_processes",
        "sweeps/test_sweep.py::test_functions_of_a_script",
        "test_pickling.py::test_other_processes",
        "test_pickling.py::test_workers",
        "cli/test_errors.py",
        "importers/test_bad_files.py",
        "kernels/test_cache_under_fire.py",
        "kernels/test_check.py",
        "kernels/test_forking.py",
        "kernels/test_gufunc.py",
        "kernels/test_kernel.py",
        "kernels/test_soak.py",
        "kernels/test_upgrade.py",
        "report/test_studio.py",
        "simulation/test_command.py",
        "simulation/test_interrupted.py",
        "simulation/test_simulate.py::test_progress_is_shown_on_a_terminal",
        "systems/test_lagrangian.py::test_the_digest_does_not_depend_on_the_process",
    ),
    "browser": (
        "report/test_live.py",
        "report/test_mathematics.py",
        "report/test_page.py",
        "report/test_page_kernels.py::test_in_a_browser",
        "report/test_runs.py::test_page_without_a_robot_has_its_plots",
        "report/test_scene.py",
        "report/test_studio_page.py",
        "symbolic/test_printing.py",
    ),
    "gpu_text": ("kernels/test_c_source.py", "kernels/test_cuda_source.py", "device/"),
}

# What depends on the versions of Python, NumPy and the rest, in a minute or two: every session of
# noxfile.py runs these, and so does `make dist` against the installed wheel.
VERSIONED = (
    *(
        f"kernels/test_{name}.py"
        for name in ("fast_call", "structures", "gufunc", "load", "folder")
    ),
    *(f"kernels/test_{name}.py" for name in ("settings", "target", "trace", "interpret")),
    *("test_robot.py", "cli/test_commands.py", "model/test_build.py", "importers/test_dh.py"),
)
LEFT_OUT = "not (slow or browser or gpu_text)"  # and of those, by marks
