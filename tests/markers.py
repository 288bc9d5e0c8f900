"""What `make quick` leaves out, by name: a file, or one test of it; `make test` runs everything.

`slow` takes seconds, `process` starts or kills processes, `browser` opens pages in a Chromium, and
`gpu_text` compiles CUDA or C text with the compilers of the machine.
"""

MARKED = {
    "slow": (
        "test_compiled.py::test_random_trees",
        "test_compiled.py::test_zoo",
        "test_docs.py",
        "test_equations_use.py::test_table_robots_agree_with_their_numbers",
        "test_examples.py",
        "test_readme.py",
        "cli/test_demo.py",
        "cli/test_every_system.py",
        "constraints/test_geometry.py::test_decoupled_equations",
        "constraints/test_spatial.py",
        "control/test_hybrid.py",
        "formulations/test_agreement.py",
        "formulations/test_classical_inverse.py::test_arithmetic_falls",
        "formulations/test_classical_inverse.py::test_joint_wrenches",
        "formulations/test_classical_inverse.py::test_silver_and_newton_euler",
        "formulations/test_classical_inverse.py::test_traced_equals_plain",
        "formulations/test_derivatives.py",
        "formulations/test_forward.py::test_the_default_takes_the_fewest_operations",
        "formulations/test_regressor.py::test_reduced_arms",
        "test_equations_use.py::test_puma_has_sums",
        "test_equations_use.py::test_lambdify_equals",
        "cli/test_mechanism.py::test_file_is_shown",
        "kernels/test_segments.py::test_a_frame_larger_than_a_stack",
        "formulations/test_regressor.py::test_compiled_regressor",
        "simulation/test_simulate.py::test_a_function_and_a_controller",
        "simulation/test_simulate.py::test_batches_agree",
        "mechanisms/test_conversion.py",
        "fuzz/",
        "kernels/test_sincos.py::test_accuracy",
        "mechanisms/test_kinds.py::test_derivatives_along_a_motion",
        "simulation/test_constrained.py",
        "simulation/test_energy.py",
        "simulation/test_orders.py",
        "zoo/test_textbook.py::test_every_number_may_be_a_parameter",
    ),
    "process": (
        "kernels/test_cache_under_fire.py",
        "simulation/test_interrupted.py",
        "simulation/test_simulate.py::test_progress_is_shown_on_a_terminal",
        "systems/test_lagrangian.py::test_the_digest_does_not_depend_on_the_process",
    ),
    "browser": ("report/test_page.py", "report/test_scene.py", "report/test_mathematics.py"),
    "gpu_text": ("kernels/test_c_source.py", "kernels/test_cuda_source.py", "test_device.py"),
}
