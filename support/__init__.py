"""What every room leans on: errors, options, dtypes. Nothing here knows of IR beyond a pass's name."""
