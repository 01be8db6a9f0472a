package host

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// Place identifies the machine, boot and PID namespace within which a process ID is unique.
type Place struct {
	Machine string `json:"machine"` // a hash of the machine's ID
	Boot    string `json:"boot"`
	PIDs    string `json:"pid_namespace,omitempty"`
}

// CurrentPlace returns the place of this process.
func CurrentPlace() Place {
	boot, pids := bootID()
	return Place{Machine: machineID(), Boot: boot, PIDs: pids}
}

// Visibility classifies what this process can know about the processes in a place.
type Visibility uint8

// The values of Visibility.
const (
	SamePlace         Visibility = iota // the place's process IDs are valid for this process
	Rebooted                            // this machine has been rebooted, so that none of the place's processes is running
	OtherPIDNamespace                   // the same boot but another PID namespace, whose processes are not visible
	OtherHost                           // another machine, whose processes are not visible
)

// Visibility returns what this process can know about the processes in place p.
func (p Place) Visibility() Visibility { return p.visibilityFrom(CurrentPlace()) }

func (p Place) visibilityFrom(here Place) Visibility {
	switch {
	case p.Boot == here.Boot && p.PIDs == here.PIDs && (p.Boot != "" || p.Machine == here.Machine):
		return SamePlace
	case p.Boot == here.Boot && p.Boot != "":
		return OtherPIDNamespace
	case p.Machine == here.Machine:
		return Rebooted
	}
	return OtherHost
}

// SameMachine reports whether two places are on the same machine.
func (p Place) SameMachine(other Place) bool {
	reach := p.visibilityFrom(other)
	return reach == SamePlace || reach == OtherPIDNamespace
}

// machineID returns an ID that distinguishes machines that share a file system. The ID is a hash,
// because the machine's original ID must be kept secret (machine-id(5)).
func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(id) == 0 {
		name, _ := os.Hostname()
		id = []byte(name)
	}
	sum := sha256.Sum256(append([]byte("quorumbench "), id...))
	return hex.EncodeToString(sum[:8])
}

// Identity identifies a process even after its process ID is reused: another process that reuses
// the ID has a different start time or boot.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // start time in the system's format; use it only to test for equality
	Boot  string `json:"boot"`  // the boot and the PID namespace in which PID is valid
}

// Identify returns the identity of the running process with the given process ID.
func Identify(pid int) (Identity, error) {
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, pids := bootID()
	return Identity{PID: pid, Start: start, Boot: boot + " " + pids}, nil
}

// Running reports whether the identified process is running. The result is false for a zombie. It
// is also false if another process has reused the process ID.
func (i Identity) Running() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}
