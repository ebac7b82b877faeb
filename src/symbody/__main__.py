"""`python -m symbody` is the command `symbody`."""

from symbody.cli.app import main

main()
