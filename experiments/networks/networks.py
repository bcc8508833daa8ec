"""The networks by name, with what is published about each."""

from cells import DARTS, NASNET, darts_cifar, darts_imagenet, generated, nasnet_mobile
from detectors import fan_example, radar, ssdlite
from mobile import MOBILENET_V2_QUARTER, ds_cnn, fpnas, mcunet_v2, mobilenet_v1, mobilenet_v2
from transformer import bert

CIFAR_CELLS, IMAGENET_CELLS = (6, 6, 6), (0, 0, 4, 4, 4)

NETWORKS = {
    "nasnet_a_cifar": lambda name: generated(name, NASNET, 32, 32, CIFAR_CELLS, 100),
    "nasnet_a_imagenet": lambda name: generated(name, NASNET, 224, 11, IMAGENET_CELLS, 1000),
    "nasnet_a_mobile": nasnet_mobile,
    "darts_cifar": lambda name: generated(name, DARTS, 32, 36, CIFAR_CELLS, 100),
    "darts_cifar_original": darts_cifar,
    "darts_imagenet": lambda name: generated(name, DARTS, 224, 12, IMAGENET_CELLS, 1000),
    "darts_imagenet_original": darts_imagenet,
    "fpnas": fpnas,
    "mobilenet_v2": lambda name: mobilenet_v2(name, 224),
    "mcunet_v2_se_large": mcunet_v2,
    "bert_tiny": bert,
    "mobilenet_v1_025_224": lambda name: mobilenet_v1(name, 224, 1000),
    "mobilenet_v1_025_128": lambda name: mobilenet_v1(name, 128, 1000),
    "mobilenet_v1_025_96": lambda name: mobilenet_v1(name, 96, 2),
    "mobilenet_v2_025_224": lambda name: mobilenet_v2(name, 224, 8, MOBILENET_V2_QUARTER),
    "mobilenet_v2_025_128": lambda name: mobilenet_v2(name, 128, 8, MOBILENET_V2_QUARTER),
    "ds_cnn": ds_cnn,
    "ssdlite": ssdlite,
    "radar": radar,
    "fan_example": fan_example,
}


def build(name):
    return NETWORKS[name](name)
