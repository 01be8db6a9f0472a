package record

// orZero returns *p, or the zero value if p is nil.
func orZero[T any](p *T) (x T) {
	if p != nil {
		x = *p
	}
	return x
}

// orEmpty returns s, or an empty list if s is nil.
func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
