"""Tables of games for the tests."""

import pandas as pd


def duels(*matches):
    """Games from matches such as ("a", "b", [1, 0, ...]): results for the first named, who moves first every other."""
    rows = []
    for one, other, results in matches:
        for i, result in enumerate(results):
            first, second, result = (one, other, result) if i % 2 == 0 else (other, one, -result)
            rows.append((first, second, result, f"opening {i // 2}"))
    return pd.DataFrame(rows, columns=["first", "second", "result", "opening"])
