"""Model files with one mistake each: what is wrong, the change to the good file, the line, and what the error says."""

from __future__ import annotations

GOOD = """\
symbody: 1
name: arm
gravity: [0, 0, -9.81]
parameters:
  l1: {default: 0.5, unit: m, nonzero: true}
  m1: 2.0
definitions:
  I1: m1*l1^2/12
bodies:
  upper:
    mass: m1
    com: [l1/2, 0, 0]
    inertia: [0, I1, I1]
    frames:
      tip: [l1, 0, 0]
  fore:
    mass: 1.5
    com: [0.1, 0, 0]
    inertia: [0.01, 0.02, 0.02]
joints:
  shoulder:
    kind: revolute
    parent: world
    child: upper
    axis: z
    limits: [-2, 2]
  elbow:
    kind: revolute
    parent: upper
    child: fore
    position: [l1, 0, 0]
    rotation: [x, 90*deg]
    axis: y
    viscous: 0.1
sensors:
  tip: upper.tip
"""

# name: (text in GOOD, replacement, line of the error, words of the sentence)
BAD = {
    "unknown key in a body": ("    mass: 1.5", "    masse: 1.5", 17, ["'fore'", "'masse'", "Did you mean 'mass'"]),
    "unknown key in the file": ("sensors:", "sensor:", 35, ["'sensor'", "Did you mean 'sensors'"]),
    "unknown joint kind": ("revolute\n    parent: upper", "revolut\n    parent: upper", 28, ["'elbow'", "'revolute'"]),
    "unknown axis": ("axis: y", "axis: R4", 33, ["joint 'elbow' has axis 'R4'; expected one of x, y, z"]),
    "zero axis": ("axis: y", "axis: [0, 0, 0]", 33, ["'elbow'", "not zero"]),
    "short axis": ("axis: y", "axis: [0, 1]", 33, ["2 entries; expected 3"]),
    "axis that is not finite": ("axis: y", "axis: [0, .nan, 1]", 33, [".nan", "finite"]),
    "missing parent": ("parent: upper", "parent: uper", 29, ["'uper'", "Did you mean 'upper'"]),
    "no parent": ("    parent: upper\n", "", 27, ["joint 'elbow' has no parent"]),
    "missing child": ("child: fore", "child: hand", 30, ["'hand'", "no body"]),
    "two parents": ("child: fore", "child: upper", 30, ["'upper'", "'shoulder' carries already"]),
    "cycle": ("parent: world", "parent: fore", 21, ["cycle"]),
    "negative mass": ("mass: 1.5", "mass: -1.5", 17, ["body 'fore' has mass -1.5; expected 0 or more"]),
    "negative mass by default": ("m1: 2.0", "m1: -2.0", 11, ["'upper'", "mass -2"]),
    "mass that is no number": ("mass: 1.5", "mass: [1]", 17, ["expected a number"]),
    "empty mass expression": ("mass: 1.5", 'mass: ""', 17, ["mass of body 'fore'"]),
    "unknown name in an expression": ("com: [l1/2, 0, 0]", "com: [l2/2, 0, 0]", 12, ["'l2'", "Did you mean 'l1'"]),
    "bad expression": ("com: [l1/2, 0, 0]", "com: [l1//2, 0, 0]", 12, ["com of body 'upper'"]),
    "division by zero": ("com: [l1/2, 0, 0]", "com: [1/0, 0, 0]", 12, ["com of body 'upper'"]),
    "value not finite": ("com: [l1/2, 0, 0]", "com: [log(l1 - 0.5), 0, 0]", 12, ["com of body 'upper'", "-inf"]),
    "power that is too large": ("mass: 1.5", "mass: 9^9^9", 17, ["too large"]),
    "triangle inequality": ("[0.01, 0.02, 0.02]", "[0.01, 0.02, 0.2]", 19, ["'fore'", "triangle inequality"]),
    "negative moment": ("[0.01, 0.02, 0.02]", "[-0.01, 0.02, 0.02]", 19, ["'fore'", "expected 0 or more"]),
    "inertia of four numbers": ("[0.01, 0.02, 0.02]", "[1, 2, 3, 4]", 19, ["'fore'", "expected 0, [Ixx"]),
    "inertia not symmetric": ("[0.01, 0.02, 0.02]", "[[1, 2, 0], [0, 1, 0], [0, 0, 1]]", 19, ["not symmetric"]),
    "duplicate body": ("  fore:\n", "  upper:\n", 16, ["'upper'", "twice", "line 10"]),
    "duplicate joint": ("  elbow:\n", "  shoulder:\n", 27, ["'shoulder'", "twice"]),
    "duplicate parameter": ("  m1: 2.0", "  l1: 2.0", 6, ["'l1'", "twice"]),
    "parameter with a reserved name": ("  m1: 2.0", "  pi: 2.0", 6, ["'pi'", "meaning of its own"]),
    "parameter that is nonzero and zero": ("default: 0.5", "default: 0", 5, ["nonzero", "default 0"]),
    "body without a joint": ("  fore:\n", "  spare:\n  fore:\n", 16, ["body 'spare' has no joint"]),
    "limits in the wrong order": ("limits: [-2, 2]", "limits: [2, -2]", 26, ["lower < upper"]),
    "rotation not orthogonal": ("[x, 90*deg]", "[[1, 0, 0], [0, 2, 0], [0, 0, 1]]", 32, ["'elbow'", "not orthogonal"]),
    "rotation left-handed": ("[x, 90*deg]", "[[1, 0, 0], [0, 1, 0], [0, 0, -1]]", 32, ["left-handed"]),
    "rotation about no axis": ("[x, 90*deg]", "[w, 90*deg]", 32, ["rotation of joint 'elbow'", "['w'"]),
    "unknown mode": ("viscous: 0.1", "mode: free", 34, ["mode 'free'; expected one of actuated"]),
    "driven without a law": ("viscous: 0.1", "mode: driven", 27, ["driven", "law of the time t"]),
    "mimic of an unknown joint": ("viscous: 0.1", "mimic: {joint: sholder}", 34, ["'sholder'", "'shoulder'"]),
    "mimic of itself": ("viscous: 0.1", "mimic: {joint: elbow}", 34, ["mimics itself"]),
    "pitch of a revolute joint": ("viscous: 0.1", "pitch: 0.1", 34, ["a pitch"]),
    "sequence of a revolute joint": ("viscous: 0.1", "sequence: xyz", 34, ["sequence"]),
    "rotor with an unknown key": ("viscous: 0.1", "rotor: {inertia: 1, gear: 3}", 34, ["'gear'", "ratio"]),
    "negative elastic stiffness": ("viscous: 0.1", "elastic: {stiffness: -3}", 34, ["elastic stiffness -3"]),
    "negative elastic damping": ("viscous: 0.1", "elastic: [3, -1]", 34, ["elastic damping -1"]),
    "limit of an unknown name": ("limits: [-2, 2]", "limits: [-L, 2]", 26, ["lower limit", "'L'"]),
    "limit without a default": ("limits: [-2, 2]", "limits: [-2, auto]", 26, ["'auto'", "stands in no equation"]),
    "limits of an expression in the wrong order": ("limits: [-2, 2]", "limits: [l1, -l1]", 26, ["lower < upper"]),
    "negative friction": ("viscous: 0.1", "viscous: -0.1", 34, ["viscous -0.1"]),
    "sensor on an unknown frame": ("upper.tip", "upper.top", 36, ["'top'", "Did you mean 'tip'"]),
    "cuts as a number": ("symbody: 1\n", "symbody: 1\ncuts: 3\n", 2, ["cuts is 3"]),
    "another version": ("symbody: 1", "symbody: 2", 1, ["version 2; expected 1"]),
    "tag": ("mass: 1.5", "mass: !!python/name:os.system 1", 17, ["tag", "plain YAML"]),
    "not YAML": ("mass: 1.5", "mass: [1.5", 18, ["not YAML"]),
    "tabulator": ("    mass: 1.5", "\tmass: 1.5", 17, ["not YAML"]),
    "alias without anchor": ("mass: 1.5", "mass: *heavy", 17, ["*heavy"]),
    "second document": ("sensors:", "---\nsensors:", 35, ["second document"]),
    "gravity of two numbers": ("[0, 0, -9.81]", "[0, -9.81]", 3, ["gravity has 2 entries"]),
    "include outside the folder": ("symbody: 1", "symbody: 1\ninclude: ../secret.yaml", 2, ["outside the folder"]),
    "include of no file": ("symbody: 1", "symbody: 1\ninclude: nothing.yaml", 2, ["nothing.yaml cannot be read"]),
    "include of itself": ("symbody: 1", "symbody: 1\ninclude: arm.yaml", 2, ["includes itself"]),
}  # fmt: skip
