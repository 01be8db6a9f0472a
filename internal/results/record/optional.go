package record

// orZero returns what p points to, or the zero value.
func orZero[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}

// orEmpty returns a list that is not nil.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
