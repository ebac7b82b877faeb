"""The builder of Mechanisms, and the forms in which pieces may be given."""
