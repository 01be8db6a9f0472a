package capacity

// Options are what a search is for.
type Options struct {
	Goals []Goal
	// Until bounds the search, in seconds; it begins no trial that would end later.
	Until float64
	// Width is how wide an interval is narrow enough, as a share; Level how sure.
	Width, Level float64
	// From is the first rate, and Least and Most the bounds of all.
	From, Least, Most float64
	// Overhead is the time that a trial takes in addition to its warm-up and window, in seconds.
	Overhead float64
	// Seen is how many operations a second the store has done before the search, as in a
	// closed loop that warmed it up; 0: not known.
	Seen float64
	// Parameter is what is searched in place of a rate; nil for a rate.
	Parameter *Parameter
}

// DefaultWidth and DefaultLevel are those of Options.
const (
	DefaultWidth = 0.02
	DefaultLevel = 0.95
)

// Parameter is a parameter that the load grows with. In a search for its largest value, rates
// are values of the parameter.
type Parameter struct {
	// Whole says that its values are whole numbers.
	Whole bool
	// Offered is how many operations a second become due at a value; it rises with it.
	Offered func(value float64) float64
	// Window is how long a trial's window is at least, in seconds. A trial has no warm-up.
	Window float64
	// Fresh reports whether each trial has its own store, so that no overload persists into the
	// next trial.
	Fresh bool
}
