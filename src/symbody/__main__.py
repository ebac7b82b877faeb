"""`python -m symbody` is the command `symbody`."""

from symbody.show.cli.app import main

main()
