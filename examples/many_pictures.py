"""How many boxes each of many pictures has: many_pictures.py MODEL.cfg MODEL.weights PICTURE...

Opened once, run as often as there are pictures: what a run needs is mapped already. A picture that cannot be read is reported, and the
others go on."""
import sys

import mafat


def main(cfg, weights, *pictures):
    status = 0
    with mafat.open(cfg, weights, picture=pictures[0], picture_may_fail=True) as model:  # decoding one like it is part of what is predicted
        for picture in pictures:
            try:
                print(f"{picture}: {len(model.detect(picture))} boxes")
            except mafat.Error as error:
                print(f"many_pictures: {error}", file=sys.stderr)
                status = 1
    return status


if len(sys.argv) < 4:
    print("usage: many_pictures.py MODEL.cfg MODEL.weights PICTURE...", file=sys.stderr)
    sys.exit(2)
try:
    sys.exit(main(*sys.argv[1:]))
except mafat.Error as error:
    sys.exit(f"many_pictures: {error}")
