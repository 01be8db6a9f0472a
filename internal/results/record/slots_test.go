package record

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// If slots.jsonl cannot be read to its end, ParseSlots returns no part of it.
func TestParseSlotsReturnsNothingAfterAnError(t *testing.T) {
	broken := errors.New("the disk is broken")
	c, err := ParseSlots(io.MultiReader(strings.NewReader(""), iotest.ErrReader(broken)))
	if c != nil || !errors.Is(err, broken) {
		t.Errorf("ParseSlots returned %v and the error %v, want nil and %v", c, err, broken)
	}
}
