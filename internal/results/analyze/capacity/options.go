package capacity

// Options describes a search.
type Options struct {
	Goals []Goal
	// Until bounds the search, in seconds; it begins no trial that would end later.
	Until float64
	// Width is the target width of the interval, as a share, and Level its confidence level.
	Width, Level float64
	// From is the first rate, and Least and Most are the bounds of all rates.
	From, Least, Most float64
	// Overhead is the time that a trial takes in addition to its warm-up and window, in seconds.
	Overhead float64
	// Seen is the throughput of the store before the search, such as in a closed loop that warmed
	// it up, in operations per second; 0 if unknown.
	Seen float64
	// Parameter is the searched parameter; nil for a rate.
	Parameter *Parameter
}

// DefaultWidth and DefaultLevel are the default values of Options.
const (
	DefaultWidth = 0.02
	DefaultLevel = 0.95
)

// Parameter is a parameter that the load grows with. In a search for its largest value, rates
// are values of the parameter.
type Parameter struct {
	// Integer reports whether the values are whole numbers.
	Integer bool
	// Offered returns the operations per second that become due at a value; it rises with the
	// value.
	Offered func(value float64) float64
	// Window is the minimum length of a trial's window, in seconds. A trial has no warm-up.
	Window float64
	// Fresh reports whether each trial has its own store, so that no overload persists into the
	// next trial.
	Fresh bool
}
