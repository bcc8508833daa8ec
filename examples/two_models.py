"""Two networks that share the memory of their maps: two_models.py FIRST.cfg FIRST.weights SECOND.cfg SECOND.weights PICTURE

They run one after the other; what a run has made is read before the other one runs, which takes its place."""
import sys

import mafat

if len(sys.argv) != 6:
    print("usage: two_models.py FIRST.cfg FIRST.weights SECOND.cfg SECOND.weights PICTURE", file=sys.stderr)
    sys.exit(2)
first, second, picture = sys.argv[1:3], sys.argv[3:5], sys.argv[5]
try:
    with mafat.Arena() as arena, mafat.open(*first, arena=arena) as one, mafat.open(*second, arena=arena) as two:
        for model, name in ((one, first[0]), (two, second[0])):
            print(f"{name}: {len(model.detect(picture))} boxes")
except mafat.Error as error:
    sys.exit(f"two_models: {error}")
