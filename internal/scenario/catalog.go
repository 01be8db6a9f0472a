package scenario

import "github.com/quorumbench/quorumbench/internal/kv"

// Catalog is what a scenario must know about the stores that there are.
type Catalog interface {
	// Stores lists the stores' names, as the key store spells them.
	Stores() []string
	// Supports returns nil if the store has the operation at that level (None
	// for what is not a read), or a sentence that says what the store has.
	Supports(store string, k kv.Kind, c kv.Consistency) error
	// Settings decodes the store's own settings. decode is strict and fills
	// the value it is given; it is nil when the file gives none, and the
	// store's defaults are wanted. The result must encode to JSON, because
	// that is how two clusters' settings are compared.
	Settings(store string, decode func(into any) error) (any, error)
	// InFlight is how many operations one connection to the store can have in
	// flight; 0 for no limit.
	InFlight(store string) int
	// Ordered reports whether one connection to the store answers in the order
	// asked, so that clients that share it wait for each other.
	Ordered(store string) bool
	// RangeForms reports whether the store's ranges can be read as Scan says;
	// without it only the zero Scan can.
	RangeForms(store string) bool
	// Version returns nil if the store's server of that version can be started
	// here once it is installed, or a sentence that says which versions can.
	Version(store, version string) error
}
