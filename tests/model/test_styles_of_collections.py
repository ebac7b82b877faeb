"""Files as collections of robots write them, in small: each is read as MuJoCo or Pinocchio reads it."""

import sys
from pathlib import Path

import numpy as np
import pytest

import symbody as sb

pytest.importorskip("mujoco")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.robot_files import compare

from helpers.random_mjcf import judge

TETRAHEDRON = "v 0 0 0\nv .1 .01 0\nv .02 .12 .01\nv .01 .02 .2\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"

MJCF = {
    # an arm with collision and visual classes, position servos, a gripper that an equality holds together
    "arm and gripper": """<mujoco model="arm">
      <compiler angle="radian" meshdir="assets" autolimits="true"/><option integrator="implicitfast" impratio="10"/>
      <default><default class="arm"><material specular="0.5" shininess="0.25"/>
        <joint armature="0.1" damping="1" axis="0 0 1" range="-2.8973 2.8973"/>
        <general dyntype="none" biastype="affine" ctrlrange="-2.8973 2.8973" forcerange="-87 87"/>
        <default class="finger"><joint axis="0 1 0" type="slide" range="0 0.04"/></default>
        <default class="visual"><geom type="mesh" contype="0" conaffinity="0" group="2"/></default>
        <default class="collision"><geom type="mesh" group="3"/><default class="pad">
          <geom type="box" friction="0.7" solimp="0.95 0.99 0.001" size=".01 .01 .01"/></default></default></default>
      </default>
      <asset><mesh file="link.obj"/><mesh name="hull" file="link.obj" scale="1 1 -1"/>
      <material class="arm" name="white"
        rgba="1 1 1 1"/></asset>
      <worldbody><light name="top" pos="0 0 2" mode="trackcom"/><body name="link0" childclass="arm">
        <inertial mass="0.629769" pos="-0.041018 -0.00014 0.049974"
          fullinertia="0.00315 0.00388 0.004285 8.2904e-7 0.00015 8.2299e-6"/>
        <geom mesh="link" material="white" class="visual"/><geom mesh="hull" class="collision"/>
        <body name="link1" pos="0 0 0.333"><inertial mass="4.97" pos="0.003875 0.002081 -0.04762"
          fullinertia="0.70337 0.70661 0.0091170 -0.00013900 0.0067720 0.019169"/><joint name="joint1"/>
          <geom class="visual" mesh="link"/><geom mesh="hull" class="collision"/>
          <body name="link2" quat="1 -1 0 0"><inertial mass="0.6469" pos="-0.003141 -0.02872 0.003495"
            fullinertia="0.0079620 2.8110e-2 2.5995e-2 -3.925e-3 1.0254e-2 7.04e-4"/>
            <joint name="joint2" range="-1.7628 1.7628"/><geom class="collision" mesh="hull"/>
            <body name="hand" pos="0 0 0.107" quat="0.9238795 0 0 -0.3826834">
              <inertial mass="0.73" pos="-0.01 0 0.03" diaginertia="0.001 0.0025 0.0017"/>
              <body name="left" pos="0 0 0.0584"><inertial mass="0.015" pos="0 0 0"
                diaginertia="2.375e-6 2.375e-6 7.5e-7"/><joint name="finger1" class="finger"/>
                <geom class="pad"/></body>
              <body name="right" pos="0 0 0.0584" quat="0 0 0 1"><inertial mass="0.015" pos="0 0 0"
                diaginertia="2.375e-6 2.375e-6 7.5e-7"/><joint name="finger2" class="finger"/></body>
            </body></body></body></body></worldbody>
      <tendon><fixed name="split"><joint joint="finger1" coef="0.5"/><joint joint="finger2" coef="0.5"/></fixed>
      </tendon>
      <equality><joint joint1="finger1" joint2="finger2" solimp="0.95 0.99 0.001" solref="0.005 1"/></equality>
      <actuator><general class="arm" name="actuator1" joint="joint1" gainprm="4500" biasprm="0 -4500 -450"/>
        <general class="arm" name="actuator2" joint="joint2" gainprm="3500" biasprm="0 -3500 -350"/>
        <general class="arm" name="grip" tendon="split" forcerange="-100 100" ctrlrange="0 255"
          gainprm="0.01568627451 0 0" biasprm="0 -100 -10"/></actuator>
      <contact><exclude body1="link0" body2="link1"/></contact>
      <sensor><jointpos joint="joint1"/><actuatorfrc actuator="grip"/></sensor>
      <keyframe><key name="home" qpos="0 .3 .04 .04" ctrl="0 .3 255"/></keyframe></mujoco>""",
    # a quadruped: childclass of legs, friction and armature by class, free base with an IMU site
    "quadruped": """<mujoco model="dog"><compiler angle="radian" autolimits="true"/><option cone="elliptic"/>
      <default><default class="dog"><geom friction="0.6" margin="0.001" condim="1"/>
        <joint axis="0 1 0" damping="2" armature="0.01" frictionloss="0.2"/><motor ctrlrange="-23.7 23.7"/>
        <default class="abduction"><joint axis="1 0 0" damping="1" range="-1.0472 1.0472"/></default>
        <default class="hip"><default class="front_hip"><joint range="-1.5708 3.4907"/></default>
          <default class="back_hip"><joint range="-0.5236 4.5379"/></default></default>
        <default class="knee"><joint range="-2.7227 -0.83776"/><motor ctrlrange="-45.43 45.43"/></default>
        <default class="foot"><geom size="0.022" pos="-0.002 0 -0.213" priority="1" condim="6"/></default></default>
      </default>
      <worldbody><body name="base" pos="0 0 0.445" childclass="dog"><inertial pos="0.021112 0 -0.005366"
        quat="-0.000543471 0.713435 -0.00173769 0.700719" mass="6.921" diaginertia="0.107027 0.0980771 0.0244531"/>
        <freejoint/><site name="imu" pos="-0.02557 0 0.04232"/>
        <replicate count="2" offset="-0.3868 0 0" sep="_"><body name="hip" pos="0.1934 -0.0465 0">
          <inertial pos="-0.0054 -0.00194 -0.000105" quat="0.498237 0.505462 0.499245 0.497014" mass="0.678"
            diaginertia="0.00088403 0.000596003 0.000479967"/><joint class="abduction" name="hip_joint"/>
          <body name="thigh" pos="0 -0.0955 0"><inertial pos="-0.00374 0.0223 -0.0327"
            quat="0.551623 -0.0200632 0.0847635 0.829533" mass="1.152"
            diaginertia="0.00594973 0.00584149 0.000878787"/><joint class="front_hip" name="thigh_joint"/>
            <body name="calf" pos="0 0 -0.213"><inertial pos="0.00629548 0.000622121 -0.141417"
              quat="0.703508 -0.00450087 0.00154099 0.710672" mass="0.241352"
              diaginertia="0.0014901 0.00146356 5.31397e-05"/><joint class="knee" name="calf_joint"/>
              <geom class="foot"/></body></body></body></replicate></body></worldbody>
      <actuator><motor class="abduction" name="hip" joint="hip_joint"/><motor class="knee" name="knee"
        joint="calf_joint"/></actuator></mujoco>""",
    # a hand: fixed tendons over joints with coupled actuators, springs by reference
    "hand": """<mujoco model="hand"><compiler angle="radian"/><option timestep="0.02" iterations="20"><flag
      warmstart="enable"/></option><default><default class="hand"><joint axis="1 0 0" damping="0.05" armature="0.0002"
        frictionloss="0.01"/><position forcerange="-1 1"/><default class="knuckle"><joint axis="0 -1 0"
        range="-0.349066 0.349066"/></default><default class="proximal"><joint range="-0.26 1.5708"/>
        </default><default class="distal"><joint range="0 1.5708" stiffness=".1" springref=".2"/></default></default>
      </default><worldbody><body name="palm" childclass="hand"><inertial mass="0.3" pos="0 0 0.035"
        diaginertia="0.0005287 0.0003581 0.000191"/><frame pos="0.033 0 0.095" euler="0 .1 0"><body name="ffknuckle">
        <inertial mass="0.008" pos="0 0 0" quat="0.5 0.5 -0.5 0.5" diaginertia="3.2e-07 2.6e-07 2.6e-07"/>
        <joint name="FFJ4" class="knuckle"/><body name="ffproximal">
        <inertial mass="0.03" pos="0 0 0.0225" quat="1 0 0 1"
          diaginertia="1e-05 9.8e-06 1.8e-06"/><joint name="FFJ3" class="proximal"/>
        <body name="ffmiddle" pos="0 0 0.045">
          <inertial mass="0.017" pos="0 0 0.0125" quat="1 0 0 1" diaginertia="2.7e-06 2.6e-06 8.7e-07"/>
          <joint name="FFJ2" class="distal"/><body name="ffdistal" pos="0 0 0.025"><inertial mass="0.013"
            pos="0 0 0.0130769" quat="1 0 0 1" diaginertia="1.28092e-06 1.12092e-06 5.3e-07"/><joint name="FFJ1"
            class="distal"/></body></body></body></body></frame></body></worldbody>
      <tendon><fixed name="FFJ0"><joint joint="FFJ2" coef="1"/><joint joint="FFJ1" coef="1"/></fixed></tendon>
      <actuator><position name="A_FFJ4" joint="FFJ4" class="knuckle" kp="2" kv=".1"/>
      <position name="A_FFJ0" tendon="FFJ0"
        class="distal" kp="1" ctrlrange="0 3.1415"/></actuator></mujoco>""",
    # a leg with rods: ball joints at their ends, connected by equalities
    "leg with rods": """<mujoco model="leg"><compiler angle="degree" eulerseq="zyx"/><option gravity="0 0 -9.806"/>
      <worldbody><body name="pelvis" pos="0 0 1"><joint name="z" type="slide" axis="0 0 1"/>
        <inertial mass="10" pos=".05 0 0" fullinertia=".09 .06 .04 0 .003 0"/>
        <body name="hip" pos="0 .13 0" xyaxes="1 0 0 0 0 1"><inertial mass="1.8" pos="-.01 0 0"
          fullinertia=".003 .004 .002 .0001 0 0"/><joint name="roll" axis="0 0 1" armature=".04" damping="1" ref="5"/>
          <body name="rod" pos="0 0 .045" zaxis=".7 .7 0"><joint type="ball" damping="0.01"/>
            <inertial mass=".15" pos=".25 0 0" diaginertia="4e-4 .003 .003"/></body>
          <body name="knee" pos=".12 0 .0045" euler="0 0 45"><inertial mass=".7" pos=".02 0 0"
            diaginertia=".001 .001 .001"/><joint name="knee" axis="0 0 1" range="-164 -37"/>
            <body name="shin" pos=".06 .04 0"><inertial mass=".5" pos=".1 0 0" diaginertia=".001 .01 .01"/>
              <joint name="shin_spring" stiffness="1500" damping=".1" range="-20 20"/></body></body></body></body>
      </worldbody><equality><connect body1="rod" body2="shin" anchor=".5 0 0"/></equality>
      <actuator><motor name="roll" joint="roll" gear="25" ctrlrange="-4.5 4.5"/></actuator></mujoco>""",
    # an arm of a suite of tasks: sites for control, motors, names with slashes, mount body without inertia, mocap
    "task suite": """<mujoco model="base"><compiler angle="radian" inertiagrouprange="0 0" meshdir="./meshes/"/>
      <size nconmax="5000" njmax="5000"/><asset><texture builtin="gradient" height="256" rgb1=".9 .9 1" type="skybox"
        width="256"/></asset><worldbody><camera mode="fixed" name="front" pos="1.6 0 1.45" quat=".56 .43 .43 .56"/>
        <body name="robot0/mount" pos="0 0 .9"><body name="robot0/link" pos="0 0 .1">
        <joint name="robot0/j1" pos="0 0 0"
          axis="0 0 1" limited="true" range="-2.8 2.8" damping="0.1"/><geom type="cylinder" size=".06 .1" group="0"
          density="800"/><geom type="box" size=".1 .1 .1" group="1" conaffinity="0" contype="0"/>
          <body name="robot0/eef" pos="0 0 .2" quat="0.707105 0 0 0.707108"><joint name="robot0/j2" axis="0 1 0"
            damping="0.1" frictionloss="0.05"/><geom type="capsule" fromto="0 0 0 0 .1 .2" size=".02" group="0"/>
            <site name="grip_site" pos="0 0 .1" size=".01 .01 .01"/></body></body></body>
        <body name="object" pos=".5 0 1"><joint type="free" damping="0.0005"/><geom size=".02 .03 .04" type="box"
          density="100" group="0"/><geom size=".02 .03 .04" type="box" contype="0" group="1"/></body>
        <body mocap="true" name="target" pos="0 0 1"><geom size=".01" contype="0" conaffinity="0"/></body></worldbody>
      <actuator><motor ctrllimited="true" ctrlrange="-80 80" joint="robot0/j1" name="torq_j1"/></actuator>
      </mujoco>""",
    # a drone: rotors are sites with thrust, drag of the air, visual skin
    "drone": """<mujoco model="drone"><compiler inertiafromgeom="false" autolimits="true"/>
      <option density="1.225" viscosity="1.8e-5"/><worldbody><body name="body" pos="0 0 0.1"><freejoint/>
        <inertial pos="0 0 0" mass="0.027" diaginertia="2.3951e-5 2.3951e-5 3.2347e-5"/>
        <geom type="box" size=".04 .04 .01"/><site name="thrust"/></body></worldbody>
      <actuator><motor class="main" ctrlrange="0 0.35" gear="0 0 1 0 0 0" site="thrust" name="body_thrust"/>
      </actuator></mujoco>""",
    # a humanoid of ball joints with stiffness by class
    "humanoid of balls": """<mujoco model="humanoid"><default><joint type="ball" damping=".5" stiffness="10"/>
      <geom type="capsule" density="900"/></default><worldbody><body name="pelvis" pos="0 0 1">
      <freejoint name="root"/>
        <geom fromto="0 -.1 0 0 .1 0" size=".09"/><body name="spine" pos="0 0 .1" euler="0 5 0"><joint name="back"/>
          <geom fromto="0 0 0 0 0 .3" size=".08"/><body name="arm" pos="0 .2 .3">
        <joint name="shoulder" pos="0 -.01 0"/>
            <geom fromto="0 0 0 0 .3 0" size=".04"/><body name="fore" pos="0 .3 0"><joint name="elbow" type="hinge"
              axis="0 0 1" range="0 150"/><geom fromto="0 0 0 0 .25 0" size=".03"/></body></body></body>
        <body name="thigh" pos="0 .1 -.1"><joint name="hip"/><geom fromto="0 0 0 0 0 -.4" size=".06"/></body></body>
      </worldbody></mujoco>""",
    # a wheeled base: three joints in turn, wheels by velocity, an arm whose weight is borne
    "mobile base": """<mujoco model="base"><compiler angle="radian"/><default><joint armature="0.005"/></default>
      <worldbody><body name="base" gravcomp="1"><joint name="x" type="slide" axis="1 0 0"/>
        <joint name="y" type="slide" axis="0 1 0"/><joint name="th" axis="0 0 1"/><inertial pos="0 0 .1" mass="30"
          diaginertia="1 1 2"/><replicate count="4" euler="0 0 1.5707963"><body name="wheel" pos=".3 0 0"><joint
          name="spin" axis="1 0 0" damping=".1"/>
        <geom type="cylinder" size=".1 .03" euler="0 1.5707963 0" mass="2"/></body>
        </replicate><body name="arm" pos="0 0 .4" gravcomp="1">
        <joint name="lift" axis="0 1 0" actuatorgravcomp="true"/>
          <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/></body></body></worldbody>
      <actuator><velocity name="v" joint="spin" kv="3"/><position name="lift" joint="lift" kp="100" dampratio="1"/>
      </actuator>
      </mujoco>""",
    # cables and muscles: lines through sites with pulleys, muscles left to efforts
    "muscles": """<mujoco model="arm26"><option timestep="0.005"/><default>
    <joint type="hinge" axis="0 0 1" limited="true"
      range="0 120" damping="0.1"/><muscle ctrllimited="true" ctrlrange="0 1"/></default><worldbody><site name="s0"
      pos="-.15 0 0"/><site name="x0" pos="0 -.15 0" size=".02"/><body pos="0 0 0">
      <geom name="upper" type="cylinder" size=".045"
        fromto="0 0 0 .5 0 0"/><joint name="shoulder"/><site name="s1" pos=".15 .06 0"/>
        <site name="s2" pos=".15 -.06 0"/>
        <body pos=".5 0 0"><geom type="capsule" size=".035" fromto="0 0 0 .5 0 0"/><joint name="elbow"/>
          <site name="s3" pos=".1 -.06 0"/></body></body></worldbody>
      <tendon><spatial name="SF" width=".01"><site site="s0"/><geom geom="upper"/><site site="s1"/></spatial>
        <spatial name="spring" stiffness="30" damping="1"><site site="x0"/><site site="s2"/><pulley divisor="2"/>
        <site site="s2"/><site site="s3"/></spatial></tendon>
      <actuator><muscle name="SF" tendon="SF"/></actuator></mujoco>""",
}


@pytest.mark.parametrize("style", MJCF)
def test_mjcf_moves_as_in_mujoco(style, tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/link.obj").write_text(TETRAHEDRON)
    path = tmp_path / "robot.xml"
    path.write_text(MJCF[style])
    assert judge(path) == ("equal", "")
    assert compare(path, "mjcf").nv > 0


def test_what_plugins_and_skins_are_is_noted(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(
        MJCF["drone"].replace(
            "</mujoco>",
            '<extension><plugin plugin="mujoco.pid"/></extension>'
            '<deformable><skin name="cloth"/></deformable></mujoco>',
        )
    )
    notes = " ".join(sb.load(path).notes)
    assert "<extension> was left out: plugin" in notes
    assert "<deformable> was left out: skin 'cloth'" in notes


INERTIA = (
    '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="0.3" ixy="0.01" ixz="0.02" iyy="0.4" iyz="0.03" izz="0.5"/></inertial>'
)
LIMIT = '<limit effort="10" velocity="2" lower="-1" upper="1"/>'


def link(name, inside=INERTIA):
    return f'<link name="{name}">{inside}</link>'


def joint(name, kind, parent, child, inside='<axis xyz="0 0 1"/>', origin='xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"'):
    place = f"<origin {origin}/>" if origin else ""
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{place}{inside}</joint>'


ONE = link("base") + link("a")
TURN = ONE + joint("j", "continuous", "base", "a")
NOTHING = (
    '<inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial>'
)  # fmt: skip
URDF = {
    "simulator tags": ONE + joint("j", "revolute", "base", "a", LIMIT + '<axis xyz="0 1 0"/>')
    + '<gazebo reference="a"><mu1>0.2</mu1></gazebo><gazebo><plugin name="p" filename="x.so"/></gazebo>'
    '<transmission name="t"><type>x</type></transmission><ros2_control name="x" type="system"/>',
    "a link called world": '<link name="world"/>' + ONE + joint("f", "fixed", "world", "base", "")
    + joint("j", "continuous", "base", "a"),
    "links without inertia": link("base", "") + link("a") + link("tool", "") + joint("j", "continuous", "base", "a")
    + joint("t", "fixed", "a", "tool", ""),
    "no axis": ONE + joint("j", "continuous", "base", "a", ""),
    "no origin": ONE + joint("j", "prismatic", "base", "a", LIMIT + '<axis xyz="1 0 0"/>', ""),
    "a long axis": ONE + joint("j", "revolute", "base", "a", LIMIT + '<axis xyz="1 2 3"/>'),
    "a follower before its leader": ONE + link("b") + joint("j", "revolute", "base", "a",
        LIMIT + '<mimic joint="k" multiplier="-2" offset="0.1"/>') + joint("k", "revolute", "a", "b", LIMIT),
    "floating": ONE + link("b") + joint("k", "floating", "base", "b", "") + joint("j", "continuous", "b", "a"),
    "planar": ONE + joint("k", "planar", "base", "a"),
    "friction": ONE + joint("k", "revolute", "base", "a", LIMIT + '<dynamics damping="0.3" friction="0.2"/>'
        '<safety_controller k_velocity="1"/><calibration rising="0"/>'),
    "a massless link between joints": link("base") + link("x", NOTHING) + link("a")
    + joint("k", "continuous", "base", "x") + joint("l", "continuous", "x", "a", '<axis xyz="1 0 0"/>'),
    "meshes of another package": link("base") + link("a", INERTIA + '<visual><geometry><mesh '
        'filename="package://foo_description/meshes/a.dae" scale="0.001 0.001 0.001"/></geometry></visual>')
    + joint("j", "continuous", "base", "a"),
    "numbers as programs print them": link("base") + link("a", '<inertial><mass value="1.5E+00"/><inertia ixx="3.e-1" '
        'ixy="-0" ixz="+0.0" iyy=".4" iyz="1e-5" izz="5E-1"/></inertial>') + joint("j", "continuous", "base", "a",
        '<axis xyz=" 0  0 1 "/>'),
    "compiler tags and sensors": TURN + '<mujoco><compiler meshdir="m"/></mujoco><sensor name="c"><parent link="a"/>'
    "</sensor>",
}  # fmt: skip


@pytest.mark.parametrize("style", URDF)
def test_urdf_moves_as_in_pinocchio(style, tmp_path):
    pytest.importorskip("pinocchio")
    path = tmp_path / "robot.urdf"
    path.write_text(f'<?xml version="1.0"?>\n<robot name="r">{URDF[style]}</robot>')
    found = compare(path, "urdf")
    assert found.status == "equal", found.reason
    assert found.nv > 0
    assert np.isfinite(found.worst)
