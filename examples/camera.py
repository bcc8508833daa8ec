"""The boxes of each frame of a camera, or of any other video, in its place in the arena:

    ffmpeg -v error -f v4l2 -video_size 640x480 -i /dev/video0 -f rawvideo -pix_fmt yuv420p - |
        camera.py MODEL.cfg MODEL.weights 640x480"""
import sys

import mafat

if len(sys.argv) != 4:
    print("usage: camera.py MODEL.cfg MODEL.weights WIDTHxHEIGHT[:FORMAT]", file=sys.stderr)
    sys.exit(2)
if sys.argv[3].endswith(":mjpeg"):
    sys.exit(f"camera: expected a format whose frames have one size, found {sys.argv[3]}")
try:
    with mafat.open(sys.argv[1], sys.argv[2], memory="64M", frames=sys.argv[3]) as model:  # of the whole process; the plan has room for a frame
        n = 0
        while sys.stdin.buffer.readinto(model.frame_room) == len(model.frame_room):
            model.run_frame(model.frame_room)
            print(f"frame {n}: {len(model.detect())} boxes")
            n += 1
except mafat.Error as error:
    sys.exit(f"camera: {error}")
