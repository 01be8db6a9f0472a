//go:build !linux

package calibrate

import "errors"

// bind is not known to be possible here.
func bind(int, int, bool) (undo func(), err error) {
	return nil, errors.New("this system does not bind threads to a processor")
}
