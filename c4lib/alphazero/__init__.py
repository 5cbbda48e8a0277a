"""AlphaZero for any game of `c4lib.games`: a network and a tree search that teach each other by playing themselves."""
