"""Lets tests import bench/campaign as `campaign`, its name in bench/chaos.py."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench"))  # last: its programs have common names
