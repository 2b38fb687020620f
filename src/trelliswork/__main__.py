"""``python -m trelliswork`` is the command ``trelliswork``."""

from trelliswork.cli import main

if __name__ == "__main__":
    main()
