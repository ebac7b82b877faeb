"""The frozen graph: elements, junctions, bonds; its builder, parts, files and checks."""
