"""Texts that are read without fault: what is damaged."""

from __future__ import annotations

EXPRESSIONS = (
    "m*l^2/3 + 0.5*sin(q1)*cos(q2 - q1)", "if(x < 0, -x, x)", "sqrt(x^2 + y^2)", "atan2(y, x) + exp(-t/2)*min(a, b)",
    "(a + b)*(a - b)/(c^3 - 1)", "abs(x)*sign(v)", "2^0.5 * pi", "x and y or not z", "max(0, x - 1)^1.5", "-x^-2",
)  # fmt: skip
MJCF = """<mujoco model="m"><compiler angle="radian" boundmass="0.001"/>
<option gravity="0 0 -9.8"><flag gravity="enable"/></option>
<default><joint damping="0.1"/><geom density="500"/><default class="thin"><geom size="0.01 0.2"/></default></default>
<asset><material name="red" rgba="1 0 0 1"/></asset><worldbody><geom type="plane" size="1 1 1"/>
<body name="a" pos="0 0 1"><joint name="j1" type="hinge" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/><body name="b" pos="0 0 0.3"><joint name="j2" axis="1 0 0"/>
<geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/><site name="tip" pos="0 0 0.2" euler="0.1 0 0"/></body></body>
<body name="c" quat="1 0 0 0"><freejoint/><geom type="box" size="0.1 0.2 0.3" material="red"/></body>
<body name="d" childclass="thin" xyaxes="1 0 0 0 1 0"><joint name="j3" type="slide" ref="0.1" stiffness="3"/>
<joint name="j4"/><geom type="cylinder"/>
<frame pos="0 0 1"><body name="e"><joint name="j5" type="ball"/><geom type="sphere" size="0.1"/></body></frame></body>
</worldbody><equality><joint joint1="j2" joint2="j1" polycoef="0 1 0 0 0"/>
<joint joint1="j4" joint2="j3" polycoef="0 1 0.5 0 0"/><connect body1="a" body2="d" anchor="0 0 0.1"/>
<weld body1="c" body2="e"/></equality><actuator><motor joint="j1" gear="10"/></actuator></mujoco>
"""
URDF = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material><link name="base"/>
<link name="a"><inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.1" length="0.3"/></geometry><material name="red"/></visual>
</link><link name="b"><collision><geometry><box size="1 2 3"/></geometry></collision></link>
<link name="c"/><link name="d"/>
<joint name="j1" type="revolute"><origin xyz="0 0 1" rpy="0 0 1.5707963"/><parent link="base"/><child link="a"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="3"/>
<dynamics damping="0.1" friction="0.2"/></joint>
<joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>
<mimic joint="j1" multiplier="2" offset="0.1"/><limit lower="-1" upper="1" effort="10" velocity="3"/></joint>
<joint name="j3" type="fixed"><parent link="b"/><child link="c"/></joint>
<joint name="j4" type="floating"><parent link="base"/><child link="d"/></joint></robot>
"""
MBS = """<mbsDescR7><mbsname>swing</mbsname><base><gravity><x>0</x><y>0</y><z>-9.81</z></gravity>
<point><pointname>hook</pointname><x>0</x><y>0</y><z>2</z></point></base><bodytree>
<body><bodyname>arm</bodyname><parent><bodyname>base</bodyname><pointname>hook</pointname></parent>
<joint><jointname>swing</jointname><type>R1</type><nature>dependent</nature>
<initialvalue><q>0.3</q></initialvalue></joint><mass>2.0</mass><com><x>0</x><y>0</y><z>-0.5</z></com>
<inertia><Ixx>0.1</Ixx><Iyy>0.2</Iyy><Izz>.15</Izz></inertia>
<point><pointname>end</pointname><x>0.1</x><y>0</y><z>-1</z>
<sensor name="tip" Pos="true"/><extforce name="push"/></point>
</body><body><bodyname>bob</bodyname><parent><bodyname>arm</bodyname><pointname>end</pointname></parent>
<joint><jointname>turn</jointname><type>R2</type><nature>driven</nature></joint><mass>1.0</mass></body></bodytree>
<cuts><rod><name>r</name><length>1.5</length><endpoint1><bodyname>bob</bodyname><pointname>origin</pointname></endpoint1>
<endpoint2><bodyname>base</bodyname><pointname>origin</pointname></endpoint2></rod></cuts>
<links><link><name>spring</name><endpoint1><bodyname>arm</bodyname><pointname>end</pointname></endpoint1>
<endpoint2><bodyname>base</bodyname><pointname>origin</pointname></endpoint2></link></links></mbsDescR7>
"""
LOOPS = """# side file
closed_loop: [[shank, hand], [shank, 'upper_arm.left']]
type: [3d, 6d]
name_mot:
  - hip
base: floating
"""
# an arm; more: further prims in it
USD_ARM = """#usda 1.0
(
    defaultPrim = "arm"
    metersPerUnit = 0.1
    kilogramsPerUnit = 2
    upAxis = "Y"
)
def Xform "arm"
{{
    def Xform "upper" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        double3 xformOp:translate = (1, 2, 3)
        quatd xformOp:orient = (0.9, 0.1, 0.3, 0.2)
        double3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient", "xformOp:scale"]
        float physics:mass = 1.5
        point3f physics:centerOfMass = (0.5, 1, 0)
        float3 physics:diagonalInertia = (3, 4, 5)
        quatf physics:principalAxes = (0.8, 0.6, 0, 0)
    }}
    def Xform "fore" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 3, 1)
        float3 physics:diagonalInertia = (1, 1, 2)
    }}
    def PhysicsRevoluteJoint "elbow" (prepend apiSchemas = ["PhysicsDriveAPI:angular"])
    {{
        uniform token physics:axis = "Z"
        rel physics:body0 = </arm/upper>
        rel physics:body1 = </arm/fore>
        point3f physics:localPos0 = (0.5, 2, 0)
        quatf physics:localRot0 = (0.5, 0.5, -0.5, 0.5)
        point3f physics:localPos1 = (0, -3, 1)
        quatf physics:localRot1 = (0.8, 0, 0.6, 0)
        float physics:lowerLimit = -90
        float physics:upperLimit = 45
        float drive:angular:physics:stiffness = 2
        float drive:angular:physics:damping = 0.5
        float drive:angular:physics:targetPosition = 30
    }}
    {more}
}}
"""
USD = USD_ARM.format(
    more="""def PhysicsPrismaticJoint "rail"
    {
        uniform token physics:axis = "X"
        rel physics:body1 = </arm/upper>
        point3f physics:localPos0 = (4, 5, 6)
        point3f physics:localPos1 = (0, 0.5, 0)
    }"""
)
XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="a" value="${2*sqrt(4) + 1}"/>
<xacro:macro name="part" params="name mass:=1"><link name="${name}"><inertial><mass value="${mass*a}"/>
<inertia ixx="1" iyy="1" izz="1"/></inertial></link></xacro:macro><link name="base"/><xacro:part name="l" mass="2"/>
<xacro:if value="${a}"><xacro:part name="k"/></xacro:if>
<joint name="j" type="continuous"><parent link="base"/><child link="l"/><axis xyz="0 0 1"/></joint>
<joint name="i" type="continuous"><parent link="l"/><child link="k"/><axis xyz="0 0 ${min(a, 1)}"/></joint></robot>
"""
# a model with every kind of force element, joint and constraint
MODEL = """
name: all
gravity: [0, 0, -9.81]
parameters:
  k: {default: 2e3, unit: N/m}
  l: {default: 0.5, unit: m, nonzero: true}
  free: {default: 3, nonzero: true}
definitions: {I: "2*l^2/12"}
bodies:
  a: {mass: 2, com: [l/2, 0, 0], inertia: [0.01, I, I],
      frames: {tip: [l, 0, 0], back: {position: [0, 0, 0.1], rotation: [x, 30*deg]}},
      shapes: [{kind: box, size: [1, 2, 3], colour: [1, 0, 0]}]}
  b: {mass: 1, com: [0.1, 0, 0], inertia: [0.02, 0.001, 0.02, 0, 0, 0.03], frames: {tip: [0.3, 0, 0]}}
  c: {mass: 1, inertia: [0.1, 0.1, 0.1], frames: {end: [0, 0, 0.2]}}
  d: {mass: 1, inertia: [0.1, 0.1, 0.1]}
  e: {mass: 1, inertia: [0.1, 0.1, 0.1]}
  wall: {frames: {hook: [1, 0, 0.3]}}
joints:
  a: {kind: revolute, parent: world, child: a, axis: y, viscous: 0.1, coulomb: 0.2, stiffness: 3, rest: 0.1,
      limits: [-2, 2]}
  b: {kind: revolute, parent: a, child: b, axis: [0, 1, 1], position: [l, 0, 0], rotor: {inertia: 1e-4, ratio: 50},
      elastic: {stiffness: 1000, damping: 1}}
  c: {kind: free, parent: world, child: c}
  d: {kind: prismatic, parent: a, child: d, mode: driven, value: "0.1*sin(t)", rotation: {rpy: [0.1, 0, 0]}}
  e: {kind: revolute, parent: d, child: e, mimic: {joint: a, ratio: 2, offset: 0.1}}
  wall: {kind: fixed, parent: world, child: wall}
cuts:
  close: {kind: rod, between: [b.tip, wall.hook], length: 1.1}
forces:
  spring: {kind: spring_damper, points: [a.tip, wall.hook], stiffness: k, damping: 10, length: 0.4,
           law: cubic, stiffness3: 5}
  push: {kind: actuator, points: [b.tip, wall.hook], gain: 2, time_constant: 0.1, limit: 9}
  away: {kind: link, points: [a, c]}
  point: {kind: point_force, points: [a.tip], force: [1, 2, 3], axes: body}
  all: {kind: wrench, points: [b], force: [1, 0, 0], moment: [0, 1, 0]}
  air: {kind: drag, points: [c], linear: [1, 1, 1], quadratic: [1, 2, 3], wind: [1, 0, 0]}
  water: {kind: ellipsoid_drag, points: [c], semiaxes: [0.1, 0.2, 0.3], density: 1000, viscosity: 0.1}
  rubber: {kind: bushing, points: [c, a.back], linear: 100, angular: 10}
  rope: {kind: tendon, points: [a.tip, b.tip, wall.hook], law: spring, stiffness: 100, damping: 1, length: 0.2}
  belt: {kind: tendon, joints: [a, d], coefficients: [1, -2], law: actuator, gain: 3}
  ground: {kind: contact, points: [c], stiffness: 1e4, damping: 60, friction: 0.2, slowest: 1e-3, width: 1e-4,
           ground: slope, slope_x: -0.5}
  motor: {kind: joint, joint: a, law: actuator, gain: 2}
  stop: {kind: joint, joint: a, law: bump_stop, stiffness: 100, lower: -1, upper: 1}
  slip: {kind: lugre, joint: a, stiffness: 100, level: 1, breakaway: 1.5, speed: 0.1, damping: 1}
  stick: {kind: stiction, joint: d, level: 1, breakaway: 1.5, stiffness: 100, damping: 1}
  slow: {kind: maxwell, points: [a.tip, c.end], stiffness: 100, damping: 10, length: 0.3}
  tyre: {kind: tyre, points: [c], law: linear, radius: 0.3, stiffness: 2e5, slip_stiffness: 1e4,
         cornering_stiffness: 1e4, relaxation_x: 0.2}
sensors: {tip: a.tip}
"""
# what tendons, actuators, springs, keyframes and copies look like in MJCF
MJCF_MORE = """<mujoco model="more"><compiler angle="degree" autolimits="true" eulerseq="zyx"/>
<option density="1.2" viscosity="0.1" wind="1 0 0"/><size nkey="1"/>
<asset><mesh name="m1" builtin="supersphere" params="5 .4 .7" scale=".1 .1 .1"/><mesh name="m2" inertia="exact"
vertex="0 0 0 .3 .02 0 .05 .4 .01 .03 .06 .5" face="0 2 1 0 1 3 1 2 3 0 3 2"/></asset>
<default><joint armature="0.01" frictionloss="0.1"/><position kp="10"/>
<default class="big"><geom density="300"/></default></default>
<worldbody><body name="base" pos="0 0 1"><freejoint name="root"/><geom type="ellipsoid" size="0.1 0.2 0.3"/>
<site name="s0" pos="0 0 0.1"/><body name="arm" pos="0.2 0 0" euler="10 20 30">
<joint name="j1" axis="0 1 0" stiffness="2" springref="10" damping="0.3" range="-90 90"/>
<geom class="big" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
<site name="s1" pos="0.1 0 0"/><body name="hand" pos="0.3 0 0">
<joint name="j2" type="slide" axis="1 0 0" springdamper="0.1 1"/>
<geom type="box" size="0.02 0.03 0.04" mass="0.2"/><site name="s2"/><body name="ball" gravcomp="0.5"><joint
name="j3" type="ball" armature="0.1"/><geom type="mesh" mesh="m1"/><geom type="mesh" mesh="m2"/></body></body></body>
</body>
<replicate count="2" euler="0 0 90"><body name="leg" pos="0.3 0 0.5"><joint name="k" axis="0 0 1"/>
<geom type="cylinder" size="0.02 0.1"/></body></replicate></worldbody>
<tendon><spatial name="t1" stiffness="3" damping="0.1" springlength="0.2"><site site="s0"/><site site="s1"/>
<pulley divisor="2"/><site site="s1"/><site site="s2"/></spatial>
<fixed name="t2"><joint joint="j1" coef="1"/><joint joint="j2" coef="-2"/></fixed></tendon>
<actuator><position name="p1" joint="j1" kp="5" ctrlrange="-1 1"/><velocity joint="j2" kv="2"/>
<motor tendon="t2" gear="3"/><general joint="j1" gainprm="1 0 0" biasprm="0 -1 -0.1" biastype="affine"/></actuator>
<contact><exclude body1="base" body2="arm"/></contact><equality>
<tendon tendon1="t2" polycoef="0.1 0 0 0 0"/><weld body1="hand" torquescale="0"/></equality>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 0.1 0.02" qvel="0 0 0 0 0 0 1 0 0 0"/></keyframe></mujoco>
"""
# frames, placed models, gears, closing joints and masses from shapes in SDF
SDF = """<sdf version="1.11"><world name="w"><gravity>0 0 -9</gravity>
<frame name="F" attached_to="M1::a"><pose>0 0 1 0 0 1</pose></frame>
<model name="M1" placement_frame="G" canonical_link="b"><pose relative_to="world">1 0 0 .1 .2 .3</pose>
<link name="a"><pose>0 1 0 0 0 0</pose><inertial auto="true"><density>100</density></inertial><collision name="c">
<pose relative_to="b">0 0 1 0 0 0</pose><geometry><cone><radius>.1</radius><length>.3</length></cone></geometry>
</collision></link><link name="b"><inertial><mass>2</mass></inertial></link><link name="c"/><link name="d"/>
<frame name="G" attached_to="b"><pose relative_to="a">0 0 .5 0 0 0</pose></frame>
<joint name="u" type="universal"><parent>a</parent><child>b</child><axis><xyz>.6 .8 0</xyz><limit><lower>-1.79769e+308
</lower><upper>2</upper></limit></axis><axis2><xyz expressed_in="G">0 1 0</xyz><dynamics><damping>.1</damping>
</dynamics></axis2></joint>
<joint name="h" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="i" type="revolute"><parent>a</parent><child>d</child><axis><xyz>0 0 1</xyz><mimic joint="u" axis="axis2">
<multiplier>2</multiplier></mimic></axis></joint><joint name="g" type="gearbox"><parent>c</parent><child>d</child>
<gearbox_ratio>3</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body><axis><xyz>0 0 1</xyz></axis></joint>
<joint name="s" type="screw"><parent>c</parent><child>d</child><screw_thread_pitch>.1</screw_thread_pitch><axis>
<xyz>0 0 1</xyz></axis></joint></model><model name="M2"><pose relative_to="F">0 0 1 0 0 0</pose><link name="l"/>
<model name="in"><pose relative_to="l">1 0 0 0 0 0</pose><link name="k"/></model></model>
<joint name="w" type="fixed"><parent>M1</parent><child>M2::in</child></joint></world></sdf>
"""

# files that others name: (name of the other, its text with the name of the damaged one, the damaged one)
PARTS = {
    "yaml_part": ("main.yaml", """name: two
include: [part.yaml]
bodies:
  hand: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01]}
joints:
  wrist: {kind: revolute, parent: rod, child: hand, axis: y}
""", """parameters:
  k: {default: 2.0, unit: N m/rad}
definitions:
  twice: 2*k
bodies:
  rod: {mass: 1, com: [0, 0, -0.5], inertia: [0.1, 0.1, 0.01]}
joints:
  hinge: {kind: revolute, parent: world, child: rod, axis: y, stiffness: twice}
sensors:
  tip: {body: rod}
"""),
    "mjcf_part": ("main.xml", """<mujoco><compiler angle="radian" boundmass="0.001" boundinertia="0.001"/>
<asset><model name="m" file="part.xml"/></asset><worldbody><body name="a"><joint name="j"/><geom size="0.1"/>
<frame pos="1 0 0"><attach model="m" body="b" prefix="p_"/></frame></body></worldbody></mujoco>
""", """<mujoco><compiler angle="degree" boundmass="0.001" boundinertia="0.001"/>
<default><default class="c"><joint damping="0.1"/></default></default><worldbody><body name="b" euler="10 20 30">
<joint name="h" class="c" range="-10 10" limited="true"/><geom type="capsule" size="0.1" fromto="0 0 0 0 0 1"/>
<body name="d"><joint name="s" type="ball"/><geom size="0.1"/></body></body></worldbody>
<equality><connect body1="b" anchor="0 0 0"/></equality><actuator><motor joint="h"/></actuator></mujoco>
"""),
    "sdf_part": ("main.sdf", """<sdf version="1.9"><model name="m"><include><uri>part.sdf</uri><name>i</name>
<pose>1 0 0 0 0 0.1</pose></include><link name="l"><inertial><mass>1</mass></inertial></link>
<joint name="j" type="revolute"><parent>l</parent><child>i::a</child><axis><xyz>0 0 1</xyz></axis></joint></model></sdf>
""", """<sdf version="1.6"><model name="p">
<link name="a"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
<link name="b"><pose frame="a">0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
<joint name="k" type="prismatic"><parent>a</parent><child>b</child><axis><xyz>1 0 0</xyz></axis></joint></model></sdf>
"""),
    "bond_part": ("main.bond.yaml", """name: two
models:
  a: {file: part.bond.yaml, R: 3}
  b: {file: part.bond.yaml}
elements:
  one: '1'
  source: Se
bonds: [source -> one, one -> a.p, one -> b.p]
""", """name: part
parameters:
  R: 2.0
elements:
  p: port
  r: {kind: R, value: R}
  c: {kind: C, value: 1}
  one: '1'
bonds: [p -> one, one -> r, one -> c]
"""),
}  # fmt: skip
