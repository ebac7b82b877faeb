"""The frozen Mechanism: its pieces, coordinates, motions, joints, validation."""
