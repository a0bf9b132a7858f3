"""What orders there are. Apart from them, so that the command line can name them without loading them."""

ORDERS = {
    "fifo": "first come, first served; who does not fit holds up all behind",
    "drf": "the account that has the least, by dominant resource",
    "queues": "as the scheduler: queues, shares by weight, priorities that grow with waiting",
}
