package host

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
