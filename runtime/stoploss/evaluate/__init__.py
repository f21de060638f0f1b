"""What StopLoss is worth on recorded runs: ranking, false aborts, money saved, and whether stopping is allowed."""
