"""StopLoss: an outside monitor that scores a run at its checkpoints from what can be observed, and knows how often it is wrong."""
