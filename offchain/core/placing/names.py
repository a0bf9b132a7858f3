"""What policies there are. Apart from them, so that the command line can name them without loading them."""

POLICIES = {
    "worth": "least loss of what free GPUs are worth (Gantry's own)",
    "fgd": "least fragmentation, as published",
    "best_fit": "least left over",
    "gpu_packing": "GPUs in use first",
    "dot_product": "least of what the pod needs",
    "first_fit": "the first host in the list",
    "random": "any host",
}
