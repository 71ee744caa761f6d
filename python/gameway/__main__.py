"""`python -m gameway`."""

from gameway.cli import main

if __name__ == "__main__":
    main()
