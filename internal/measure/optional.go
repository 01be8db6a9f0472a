package measure

// OrZero returns *p, or the zero value if p is nil. Optional figures are pointers, which are nil if
// the figure is not known.
func OrZero[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}
