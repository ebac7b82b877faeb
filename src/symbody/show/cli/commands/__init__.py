"""The commands, one file each, named after the word that is typed."""
