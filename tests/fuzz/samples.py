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
