"""A spam filter for real mailboxes: messages to tokens, a model of one column of text, and its database."""
