//! The network path: queues, links, delay, jitter and loss
