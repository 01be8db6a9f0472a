//go:build !linux

package calibrate

import "errors"

// bind returns an error, because this system does not support it.
func bind(int, int, bool) (undo func(), err error) {
	return nil, errors.New("this system cannot bind threads to a processor")
}
