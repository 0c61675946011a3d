# SPDX-License-Identifier: MIT
"""The application of uvicorn: tussi's resumable uploads."""
import os
from pathlib import Path

from tussi import FilesystemStorage, TUSApp

root = Path(os.environ["PULSE_TUS"])
for name in ("uploads", "completed"):
    (root / name).mkdir(parents=True, exist_ok=True)
app = TUSApp(
    storage=FilesystemStorage(directory=root / "uploads"), completed_dir=root / "completed", max_chunk_size=None)
