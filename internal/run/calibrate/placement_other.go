//go:build !linux

package calibrate

import "errors"

// onOneProcessor is not known to be possible here.
func onOneProcessor(...int) (undo func(), err error) {
	return nil, errors.New("this system does not bind threads to a processor")
}
