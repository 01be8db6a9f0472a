//go:build !linux

package network

import (
	"errors"
	"os"
	"runtime"
)

var errNoNetworks = errors.New("network faults require Linux")

// Space represents a member's network. It is not used on this system, because members' networks
// require Linux.
type Space struct{}

// Address returns an empty address.
func (*Space) Address() string { return "" }

func (*Space) close() {}

// Run returns an error, because members' networks require Linux.
func (*Space) Run(func() error) error { return errNoNetworks }

// RunOnThread calls the function `do` on a locked thread.
func RunOnThread(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	do()
}

type deviceSet struct {
	subnet string
	files  []*os.File
	spaces []*Space
}

func (*deviceSet) closeFiles() {}

func newDeviceSet(int) (*deviceSet, error) { return nil, errNoNetworks }

// Serve returns an error, because members' networks require Linux.
func Serve(string, int, *os.File, *os.File) error { return errNoNetworks }
