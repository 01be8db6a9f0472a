package passive

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// MaxPieces returns the maximum number of pieces of one connection, of any size, that may wait.
func MaxPieces() int { return maxConnBacklog / pieceOverhead }

// mute is a store.TapProvider, a store.Tap and a Sink that ignore everything.
type mute struct{}

func (mute) Tap(store.TapConfig) store.Tap  { return mute{} }
func (mute) Feed(bool, int64, []byte) error { return nil }
func (mute) End(int64)                      {}
func (mute) Open() int                      { return 0 }
func (mute) Call(*call.Call)                {}
func (mute) Gap(call.Gap)                   {}
