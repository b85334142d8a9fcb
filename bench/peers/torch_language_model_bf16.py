"""The same in bf16: torch_language_model_bf16.py THREADS eager|compiled BATCH"""

import sys

sys.argv.append("bf16")
import torch_language_model  # noqa: E402, F401
