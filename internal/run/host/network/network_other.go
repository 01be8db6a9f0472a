//go:build !linux

package network

import (
	"errors"
	"os"
	"runtime"
)

var errNoNetworks = errors.New("faults of the network need Linux")

// Space is a member's network, which needs Linux.
type Space struct{}

// Address is the member's in it.
func (*Space) Address() string { return "" }

func (*Space) close() {}

// In does nothing: there is no such network.
func (*Space) In(func() error) error { return errNoNetworks }

// OnThread does something on a thread that has nothing else to do meanwhile.
func OnThread(what func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	what()
}

type made struct {
	subnet string
	files  []*os.File
	spaces []*Space
}

func (*made) closeFiles() {}

func newDevices(int) (*made, error) { return nil, errNoNetworks }

// Serve fails: there are no networks to forward between.
func Serve(string, int, *os.File, *os.File) error { return errNoNetworks }
