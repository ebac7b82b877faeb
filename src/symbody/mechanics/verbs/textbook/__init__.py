"""Equations of small mechanisms as textbooks print them: expanded to sums of angles, collected, written."""
