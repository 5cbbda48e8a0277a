"""Taking an agent to Kaggle's ConnectX: one file that is written, checked, and plays there."""
