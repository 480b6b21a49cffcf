"""What a model shows: evaluation, explanations, charts, samples and receipts."""
