"""Published figures and paths of the networks. kB are 1000 bytes, KB 1024."""

# Name: (folder: MAFAT_MODELS or BUILD/networks, file, publication)
NETWORKS = {
    "kws": ("models", "tflite/kws_ref_model.tflite"),
    "text_class": ("models", "tflite/text_class.tflite"),
    "magic_wand": ("models", "tflite/magic_wand.tflite"),
    "cifar10": ("models", "tflite/cifar10.tflite"),
    "posenet": ("models", "tflite/posenet_mobilenet_v1_100_257x257_integer_quant.tflite"),
    "ssd": ("models", "tflite/ssd_mobilenet_v1_quant.tflite"),
    "ssdlite": ("networks", "ssdlite-int8.onnx"),
    "radar": ("networks", "radar-int8.onnx"),
    "nasnet_a_cifar": ("networks", "nasnet_a_cifar-int8.onnx"),
    "darts_cifar": ("networks", "darts_cifar-int8.onnx"),
    "nasnet_a_imagenet": ("networks", "nasnet_a_imagenet-int8.onnx"),
    "darts_imagenet": ("networks", "darts_imagenet-int8.onnx"),
    "fpnas": ("networks", "fpnas-int8.onnx"),
    "mobilenet_v2": ("networks", "mobilenet_v2-int8.onnx"),
    "mcunet_v2_se_large": ("networks", "mcunet_v2_se_large-int8.onnx"),
    "bert_tiny": ("networks", "bert_tiny-int8.onnx"),
}
EXTRA = {"vww": ("models", "tflite/vww_96_int8.tflite")}   # only for run.py --check
MOTES_NETWORKS = list(NETWORKS)[8:]

# Stahl et al. 2023, Table 2, and the thesis of 2024, Table 4.1: kB of RAM untiled, FFMT, FDT;
# percent saved by FFMT, FDT; percent more multiply-adds by FFMT. Rows that are also in the thesis
# occur twice.
FDT_PAPER = {
    "kws": (65.6, 65.6, 53.7, 0.0, 18.1, 0.0),
    "text_class": (18.6, 18.6, 4.43, 0.0, 76.2, 0.0),
    "magic_wand": (17.6, 7.04, 11.3, 60.9, 35.5, 0.0),
    "cifar10": (179, 76.7, 170, 57.1, 5.0, 9.0),
    "posenet": (9350, 5110, 8940, 45.3, 4.4, 45.1),
    "ssdlite": (14300, 8660, 12200, 39.4, 14.6, 0.2),
    "radar": (36.2, 26.7, 29.4, 26.3, 18.8, 0.0),
}
FDT_THESIS = dict(FDT_PAPER, text_class=(18.6, 18.6, 4.4, 0.0, 76.2, 0.0), magic_wand=(17.6, 6.8, 11.3, 61.3, 35.5, 32.5),
                  cifar10=(157, 60, 148, 61.8, 5.7, 12.0), radar=(35, 27, 28, 22.0, 19.6, 0.0))

# MOTES: the limit in KB that its text gives each method (8-bit values, delta 1.05); the bars of
# its figure 8 are not legible.
MOTES_LIMIT, MOTES_MOST = 320, dict.fromkeys(MOTES_NETWORKS, 320)
HMCOS_MOST = {"nasnet_a_cifar": 457, "darts_cifar": 457}
TINYENGINE_MOST = {"mobilenet_v2": 320, "mcunet_v2_se_large": 320}

# Differences between these networks and the published ones.
DIFFERENCES = {
    "kws": "The published bytes are of maps of 4-byte elements, as in the compiler's fused graph; here elements have one byte, and a convolution's "
           "wide sums exist only in scratch. All maps of the trunk have 8000 values, so splitting channels saves at most a part of one of "
           "the two live maps, and the last one ends in maps of 1 x 1, where rows end. The flow starts here with every layer apart.",
    "text_class": "The same file. Its 16 channels are cut inside a block, and its embedding table is read from the weights. The published bytes are sections of a binary, including input, output and 1.1 kB of others; here the arena alone.",
    "magic_wand": "The same file. Its 8 channels are cut inside a block. The publication has a padded copy of the input as a buffer of its own; here padding is part of the map. The paper has no additional "
                  "multiply-adds with FFMT, the thesis 32.5 %; its saving of 60.9 % does not match its own bytes (60.0 %).",
    "cifar10": "The file is that of the thesis; the paper's, of 5.52 million multiply-adds, was not found. FDT's 148 kB are two thirds of the "
               "second map plus the whole first one; the flow's own steps give less.",
    "posenet": "The file has 8 bits, so its maps are a quarter of those of the measured float network; its input is of floats and weighs four times as much relative to them. FFMT here reads it by rows, which is no step of the published flow.",
    "ssd": "Not measured in either publication: an available file of SSD with MobileNetV1, in addition to the reconstruction of SSDLite.",
    "ssdlite": "Reconstructed: 750 million multiply-adds at 300 x 300. 313 were published, which no layer list explains.",
    "radar": "Reconstructed: the layers were never published, only 0.09 million multiply-adds and the bytes.",
    "nasnet_a_cifar": "From the generator that papers on operator scheduling use; MOTES' own file is not public.",
    "darts_cifar": "From the same generator.",
    "nasnet_a_imagenet": "From the same generator, whose stem and reductions read maps of 112 x 112 with windows of up to 7 rows.",
    "darts_imagenet": "From the same generator.",
    "fpnas": "From the authors' repository.",
    "mobilenet_v2": "Width 1, which the publication does not state.",
    "mcunet_v2_se_large": "From the public file; 1470.0 KB of whole maps are those of the publication.",
    "bert_tiny": "512 tokens; the embedding's output is the input.",
}
