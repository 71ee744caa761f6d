//! Competing TCP: a sans-IO bulk endpoint, one module per congestion control
