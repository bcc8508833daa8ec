"""The memory planner of TFLite Micro: largest buffers first, each at the lowest offset free during
its life."""


def layout(lives, align=16):
    """lives: (first step, last step, bytes) of each buffer. Returns their offsets."""
    offsets = [0] * len(lives)
    placed = []
    for b in sorted(range(len(lives)), key=lambda k: -lives[k][2]):
        first, last, size = lives[b]
        at = 0
        for other in sorted((k for k in placed if lives[k][0] <= last and first <= lives[k][1]), key=lambda k: offsets[k]):
            if offsets[other] - at >= size:
                break
            at = max(at, up(offsets[other] + lives[other][2], align))
        offsets[b] = at
        placed.append(b)
    return offsets


def up(size, align):
    return -(-size // align) * align


def arena(lives, align=16):
    return max((at + size for at, (_, _, size) in zip(layout(lives, align), lives)), default=0)
