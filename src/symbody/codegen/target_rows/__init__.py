"""The rows of the targets, one file each."""
