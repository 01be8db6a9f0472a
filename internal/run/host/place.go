package host

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
)

// Place says where the numbers of processes mean something.
type Place struct {
	Machine string `json:"machine"` // a hash of what names the machine
	Boot    string `json:"boot"`
	PIDs    string `json:"pid_namespace,omitempty"`
}

// Here is the place that we are in.
func Here() Place {
	boot, pids := bootID()
	return Place{Machine: machineID(), Boot: boot, PIDs: pids}
}

// Reach is what can be said from here about the processes of a place.
type Reach uint8

// The reaches.
const (
	SamePlace  Reach = iota // its numbers are ours
	Rebooted                // this machine was booted since: none of its processes runs
	OtherSpace              // this boot, another PID namespace: nothing can be said
	OtherHost               // another machine: nothing can be said
)

// Reach compares the place with where we are.
func (p Place) Reach() Reach { return p.from(Here()) }

func (p Place) from(here Place) Reach {
	switch {
	case p.Boot == here.Boot && p.PIDs == here.PIDs && (p.Boot != "" || p.Machine == here.Machine):
		return SamePlace
	case p.Boot == here.Boot && p.Boot != "":
		return OtherSpace
	case p.Machine == here.Machine:
		return Rebooted
	}
	return OtherHost
}

// SameMachine reports whether two places are on one machine.
func (p Place) SameMachine(other Place) bool {
	reach := p.from(other)
	return reach == SamePlace || reach == OtherSpace
}

// machineID distinguishes machines that share a file system. It is a hash: what
// systemd calls the machine's ID is not to be shown (machine-id(5)).
func machineID() string {
	id, err := os.ReadFile("/etc/machine-id")
	if err != nil || len(id) == 0 {
		name, _ := os.Hostname()
		id = []byte(name)
	}
	sum := sha256.Sum256(append([]byte("quorumbench "), id...))
	return hex.EncodeToString(sum[:8])
}

// Identity says which process is meant, beyond the reuse of its number: the
// same number with another start time, or after another boot, is not it.
type Identity struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // as the system has it; only equality matters
	Boot  string `json:"boot"`  // of the machine and of the space that PID is a number in
}

// Identify returns the identity of the running process with the given number.
func Identify(pid int) (Identity, error) {
	start, err := startTime(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, pids := bootID()
	return Identity{PID: pid, Start: start, Boot: boot + " " + pids}, nil
}

// Running reports whether this very process runs. A zombie does not.
func (i Identity) Running() bool {
	now, err := Identify(i.PID)
	return err == nil && now == i
}
