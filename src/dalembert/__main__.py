"""`python -m dalembert`: the command line of the interpreter at hand."""

from dalembert.cli import main

if __name__ == "__main__":
    main()
