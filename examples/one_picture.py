"""The boxes of one picture: one_picture.py MODEL.cfg MODEL.weights PICTURE"""
import sys

import mafat

if len(sys.argv) != 4:
    print("usage: one_picture.py MODEL.cfg MODEL.weights PICTURE", file=sys.stderr)
    sys.exit(2)
try:
    with mafat.open(sys.argv[1], sys.argv[2], memory="64M") as model:  # of the whole process
        for b in model.detect(sys.argv[3]):
            print(f"class {b.class_id}: {b.confidence:.2f} at {b.x:.0f}, {b.y:.0f}, {b.w:.0f} x {b.h:.0f}")
except mafat.Error as error:
    sys.exit(f"one_picture: {error}")
