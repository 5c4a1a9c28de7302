"""What stores of documents share: rows of Arrow batches as Python values, nested ones too."""
