package relay

// MostPieces is how many pieces of one connection may wait, however small they are.
func MostPieces() int { return heldOfOne / pieceCost }
