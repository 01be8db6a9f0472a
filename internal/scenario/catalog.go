package scenario

import "github.com/quorumbench/quorumbench/internal/kv"

// Catalog is what a scenario must know about the stores that there are.
type Catalog interface {
	// Stores lists the stores' names, as the key store spells them.
	Stores() []string
	// Capabilities is what one of these stores can do.
	Capabilities(store string) kv.Capabilities
	// Settings decodes the store's own settings. decode is strict and fills
	// the value it is given; it is nil when the file gives none, and the
	// store's defaults are wanted. The result must encode to JSON, because
	// that is how two clusters' settings are compared.
	Settings(store string, decode func(into any) error) (any, error)
	// Version returns nil if the store's server of that version can be started
	// here once it is installed, or a sentence that says which versions can.
	Version(store, version string) error
}
