#!/usr/bin/env python3
"""Counts a config the other exact way: builds the class it names on PyTorch's meta device, without weights.

usage: meta_device.py CONFIG.json
"""
import json
import os
import shutil
import sys
import tempfile

import torch
import transformers


def main():
    path = sys.argv[1]
    with open(path) as file:
        class_name = json.load(file)["architectures"][0]
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(path, os.path.join(folder, "config.json"))
        config = transformers.AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        model = getattr(transformers, class_name)._from_config(config)
    model.tie_weights()
    print(sum(parameter.numel() for parameter in {id(p): p for p in model.parameters()}.values()))


if __name__ == "__main__":
    main()
